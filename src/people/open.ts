/** How people are recognised and reached: their sessions, their attempts to sign in, and mail. */
import type { SQL } from 'bun';
import type { DerivedKeys } from '../lib/derived-keys.ts';
import { type Attempts, openAttempts } from './attempts.ts';
import { createAuth } from './auth.ts';
import { type InvitationMail, openInvitationMail } from './invitation-mail.ts';
import type { Mailer } from './mailer.ts';
import { openResetMail, type ResetMail } from './reset-mail.ts';
import { openSessions, type Sessions } from './sessions.ts';
import { openVerificationMail, type VerificationMail } from './verification-mail.ts';
import { openWelcomeGrants, type WelcomeGrantSettings, type WelcomeGrants } from './welcome-grant.ts';

type People = Readonly<{
  sessions: Sessions;
  attempts: Attempts;
  /** All three null when the gateway cannot send mail. */
  resetMail: ResetMail | null;
  invitationMail: InvitationMail | null;
  verificationMail: VerificationMail | null;
  welcome: WelcomeGrants;
}>;

export function openPeople(
  sql: SQL,
  deriveKey: DerivedKeys,
  publicUrl: string | null,
  mailer: Mailer | null,
  welcomeGrant: WelcomeGrantSettings | null,
): People {
  const auth = createAuth(sql, { secret: deriveKey('sessions').toString('base64'), publicUrl });
  const attempts = openAttempts(sql, deriveKey('sign-in attempts'));
  return {
    sessions: openSessions(sql, auth, mailer !== null),
    attempts,
    resetMail: mailer && openResetMail(sql, mailer, attempts),
    invitationMail: mailer && openInvitationMail(mailer),
    verificationMail: mailer && openVerificationMail(sql, mailer),
    welcome: openWelcomeGrants(welcomeGrant, deriveKey('welcome grants')),
  };
}
