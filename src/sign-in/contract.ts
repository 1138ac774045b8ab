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
  'revoke-session': Readonly<{ id: string }>;
  'revoke-other-sessions': Nothing;
}>;

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
