/** Sends links for choosing a new password, behind the back of whoever asked: the answer does not wait for any of it. */
import type { SQL } from 'bun';
import type { Log } from '../lib/log.ts';
import { openMailer } from '../mail/mailer.ts';
import { resetPasswordMail } from '../mail/reset-password.ts';
import { findUserByEmail } from '../users/user-store.ts';
import { createResetToken, resetLinkMinutes, resetUrl } from './reset-link.ts';

export type ResetMail = Readonly<{
  /** Returns at once. Nothing is sent to an address that nobody signs in with. */
  send: (email: string) => void;
  /** Waits for the mails that are under way. */
  close: () => Promise<void>;
}>;

type MailSettings = Readonly<{ url: string; from: string; origin: string }>;

/** A mail server that does not answer must not fill the memory. */
const mostUnderWay = 100;

export function openResetMail(sql: SQL, settings: MailSettings, log: Log): ResetMail {
  const mailer = openMailer(settings.url, settings.from);
  const underWay = new Set<Promise<void>>();

  async function sendLink(email: string): Promise<void> {
    const user = await findUserByEmail(sql, email);
    if (user === null) return;
    const { token } = await createResetToken(sql, user.id);
    await mailer.send(resetPasswordMail(user.email, resetUrl(settings.origin, token), resetLinkMinutes));
  }

  return {
    send: (email) => {
      if (underWay.size >= mostUnderWay) {
        log.warn('a mail was not sent: too many are under way', { count: underWay.size });
        return;
      }
      const sending = sendLink(email)
        // What the server says of a mail repeats the address, so only the kind of failure is logged.
        .catch((error: unknown) => log.warn('a mail was not sent', { code: codeOf(error) }))
        .finally(() => underWay.delete(sending));
      underWay.add(sending);
    },
    close: async () => {
      await Promise.all(underWay);
    },
  };
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
}
