/** The requests and responses of /api/auth, in better-auth's words, for both sides of the wire. Types only. */

type Nothing = Readonly<Record<string, never>>;

/** The bodies by the path after /api/auth/. Any other field is rejected. */
export type AuthBodies = Readonly<{
  'sign-in/email': Readonly<{ email: string; password: string }>;
  'sign-up/email': Readonly<{ name: string; email: string; password: string }>;
  'sign-out': Nothing;
  'request-password-reset': Readonly<{ email: string }>;
  'reset-password': Readonly<{ token: string; newPassword: string }>;
  'change-password': Readonly<{ currentPassword: string; newPassword: string }>;
  'invitation/details': Readonly<{ token: string }>;
  'invitation/accept': Readonly<{ token: string }>;
  'invitation/sign-up': Readonly<{ token: string; name: string; email: string; password: string }>;
  'verify-email': Readonly<{ token: string }>;
  'send-verification-email': Nothing;
  'revoke-session': Readonly<{ id: string }>;
  'revoke-other-sessions': Nothing;
}>;

/** The response to POST /api/auth/invitation/details. Only `email` can accept it; when null, anyone can. */
export type InvitationDetails = Readonly<{
  accountName: string;
  role: 'owner' | 'member';
  email: string | null;
  expiresAt: string;
}>;

/** The response to POST /api/auth/invitation/accept and …/sign-up. */
export type JoinedAccount = Readonly<{ accountId: string }>;

/** The response to GET /api/auth/get-session, of which the dashboard needs only this. */
export type CurrentSession = Readonly<{ user: Readonly<{ email: string; emailVerified: boolean }> }> | null;

/** One item of the response to GET /api/auth/list-sessions. */
export type ListedSession = Readonly<{
  id: string;
  createdAt: string;
  updatedAt: string;
  expiresAt: string;
  userAgent: string | null;
  ipAddress: string | null;
  isCurrent: boolean;
}>;
