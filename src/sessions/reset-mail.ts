/** Mails links for choosing a new password. The request does not wait for it. */
import type { SQL } from 'bun';
import { createTransport } from 'nodemailer';
import type { Log } from '../lib/log.ts';
import { findUserByEmail } from '../users/user-store.ts';
import { createResetToken, resetLinkMinutes, resetUrl } from './reset-link.ts';

export type ResetMail = Readonly<{
  /** Returns at once. Nothing is sent to an address without a user. */
  send: (email: string) => void;
  /** Waits for the mails in flight. */
  close: () => Promise<void>;
}>;

type MailSettings = Readonly<{ url: string; from: string; origin: string }>;

/** A mail server that does not respond must not fill the memory. */
const maxInFlight = 100;

export function openResetMail(sql: SQL, settings: MailSettings, log: Log): ResetMail {
  const sendMail = openMailer(settings.url, settings.from);
  const inFlight = new Set<Promise<void>>();

  async function sendLink(email: string): Promise<void> {
    const user = await findUserByEmail(sql, email);
    if (user === null) return;
    const { token } = await createResetToken(sql, user.id);
    await sendMail(resetPasswordMail(user.email, resetUrl(settings.origin, token)));
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

const timeoutMs = 10_000;

/** Only text that the gateway wrote itself is sent: no file and no URL is ever read for a mail. */
function openMailer(url: string, from: string): (mail: Mail) => Promise<void> {
  const transport = createTransport({
    url,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return async ({ to, subject, text, html }) => {
    await transport.sendMail({ from, to: { name: '', address: to }, subject, text, html });
  };
}

function resetPasswordMail(to: string, url: string): Mail {
  const origin = new URL(url).origin;
  const greeting = `Someone, probably you, asked for a new password at ${origin}.`;
  const instruction = `Choose one here within ${resetLinkMinutes} minutes. The link works once:`;
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
