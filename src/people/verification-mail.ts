/** Mails links that verify an address. */
import type { SQL } from 'bun';
import { createVerificationToken, verificationHours, verificationUrl } from './email-verification.ts';
import { linkMail, type Mailer } from './mailer.ts';

export type VerificationMail = Readonly<{
  /** Returns at once. */
  send: (user: Readonly<{ id: string; email: string }>) => void;
}>;

export function openVerificationMail(sql: SQL, { origin, send }: Mailer): VerificationMail {
  return {
    send: ({ id, email }) =>
      send(async () =>
        linkMail(email, 'Verify your e-mail address', {
          greeting: `Someone, probably you, signed up at ${origin} with this address.`,
          instruction: `Verify it here within ${verificationHours} hours, signed in. The link works once:`,
          url: verificationUrl(origin, await createVerificationToken(sql, id)),
          farewell: 'If it was not you, do nothing: without this, the login is of no use.',
        }),
      ),
  };
}
