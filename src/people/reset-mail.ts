/** Mails links for choosing a new password. */
import type { SQL } from 'bun';
import { type Attempts, isWithin } from './attempts.ts';
import { linkMail, type Mailer } from './mailer.ts';
import { createResetToken, resetLinkMinutes, resetUrl } from './reset-link.ts';
import { unverifiedResetLimits } from './sign-in-limits.ts';
import { findUserByEmail } from './user-store.ts';

export type ResetMail = Readonly<{
  /** Returns at once. Nothing is sent to an address without a user. */
  send: (email: string) => void;
}>;

export function openResetMail(sql: SQL, { origin, send }: Mailer, attempts: Attempts): ResetMail {
  return {
    send: (email) =>
      send(async () => {
        const user = await findUserByEmail(sql, email);
        if (user === null) return null;
        if (!user.isEmailVerified && !(await isWithin(attempts, unverifiedResetLimits(user.email))))
          return null;
        const { token } = await createResetToken(sql, user.id);
        return linkMail(user.email, 'Choose a new password', {
          greeting: `Someone, probably you, asked for a new password at ${origin}.`,
          instruction: `Choose one here within ${resetLinkMinutes} minutes. The link works once:`,
          url: resetUrl(origin, token),
          farewell: 'If it was not you, do nothing: your password stays as it is.',
        });
      }),
  };
}
