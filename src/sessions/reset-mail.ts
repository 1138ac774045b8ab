/** Mails links for choosing a new password. The request that asks for one does not wait for any of it. */
import type { SQL } from 'bun';
import { createTransport } from 'nodemailer';
import type { Log } from '../lib/log.ts';
import { findUserByEmail } from '../users/user-store.ts';
import { createResetToken, resetLinkMinutes, resetUrl } from './reset-link.ts';

export type ResetMail = Readonly<{
  /** Returns at once. Nothing is sent to an address that nobody signs in with. */
  send: (email: string) => void;
  /** Waits for the mails in flight. */
  close: () => Promise<void>;
}>;

type MailSettings = Readonly<{ url: string; from: string; origin: string }>;

/** A mail server that does not respond must not fill the memory. */
const maxInFlight = 100;

export function openResetMail(sql: SQL, settings: MailSettings, log: Log): ResetMail {
  const mailer = openMailer(settings.url, settings.from);
  const inFlight = new Set<Promise<void>>();

  async function sendLink(email: string): Promise<void> {
    const user = await findUserByEmail(sql, email);
    if (user === null) return;
    const { token } = await createResetToken(sql, user.id);
    await mailer.send(resetPasswordMail(user.email, resetUrl(settings.origin, token), resetLinkMinutes));
  }

  return {
    send: (email) => {
      if (inFlight.size >= maxInFlight) {
        log.warn('a mail was not sent: too many are in flight', { count: inFlight.size });
        return;
      }
      const sending = sendLink(email)
        // The server's message repeats the address, so only the kind of failure is logged.
        .catch((error: unknown) => log.warn('a mail was not sent', { code: codeOf(error) }))
        .finally(() => inFlight.delete(sending));
      inFlight.add(sending);
    },
    close: async () => {
      await Promise.all(inFlight);
    },
  };
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
}

type Mail = Readonly<{ to: string; subject: string; text: string; html: string }>;
type Mailer = Readonly<{ send: (mail: Mail) => Promise<void> }>;

const timeoutMs = 10_000;

/** SMTP. Only text that the gateway wrote itself is sent: no file and no URL is ever read for a mail. */
function openMailer(url: string, from: string): Mailer {
  const transport = createTransport({
    url,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    send: async ({ to, subject, text, html }) => {
      await transport.sendMail({ from, to: { name: '', address: to }, subject, text, html });
    },
  };
}

/** The mail with the link for choosing a new password. */
function resetPasswordMail(to: string, url: string, minutes: number): Mail {
  const origin = new URL(url).origin;
  const greeting = `Someone, probably you, asked for a new password at ${origin}.`;
  const instruction = `Choose one here within ${minutes} minutes. The link works once:`;
  const farewell = 'If it was not you, do nothing: your password stays as it is.';
  return {
    to,
    subject: 'Choose a new password',
    text: `${greeting}\n\n${instruction}\n\n${url}\n\n${farewell}\n`,
    html: [
      `<p>${Bun.escapeHTML(greeting)}</p>`,
      `<p>${Bun.escapeHTML(instruction)}<br><a href="${Bun.escapeHTML(url)}">${Bun.escapeHTML(url)}</a></p>`,
      `<p>${Bun.escapeHTML(farewell)}</p>`,
    ].join('\n'),
  };
}
