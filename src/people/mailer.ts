/** Sends mails. The request that causes one does not wait for it. */
import { createTransport } from 'nodemailer';
import type { Log } from '../lib/log.ts';

export type Mail = Readonly<{ to: string; subject: string; text: string; html: string }>;

export type Mailer = Readonly<{
  /** Where links in mails lead. */
  origin: string;
  /** Returns at once. Nothing is sent if `write` returns null. */
  send: (write: () => Promise<Mail | null>) => void;
  /** For whoever tries again, and bounds how many are in flight at once. */
  deliver: (mail: Mail) => Promise<Delivered>;
  /** Waits for the mails in flight. */
  close: () => Promise<void>;
}>;

/** Whether a mail server has taken a mail; `refused` means that it never will. */
export type Delivered = 'sent' | 'refused' | 'failed';

type MailSettings = Readonly<{ url: string; from: string; origin: string }>;

/** A mail server that does not respond must not fill the memory. */
const maxInFlight = 100;

export function openMailer({ url, from, origin }: MailSettings, log: Log): Mailer {
  const deliver = openTransport(url, from);
  const inFlight = new Set<Promise<void>>();

  async function writeAndDeliver(write: () => Promise<Mail | null>): Promise<void> {
    const mail = await write();
    if (mail !== null) await deliver(mail);
  }

  return {
    origin,
    send: (write) => {
      if (inFlight.size >= maxInFlight) {
        log.warn('a mail was not sent: too many are in flight', { count: inFlight.size });
        return;
      }
      const sending = writeAndDeliver(write)
        // The server's message repeats the address, so only the kind of failure is logged.
        .catch((error: unknown) => log.warn('a mail was not sent', { code: codeOf(error) }))
        .finally(() => inFlight.delete(sending));
      inFlight.add(sending);
    },
    deliver: async (mail) => {
      try {
        await deliver(mail);
        return 'sent';
      } catch (error) {
        log.warn('a mail was not sent', { code: codeOf(error) });
        return isFinal(error) ? 'refused' : 'failed';
      }
    },
    close: async () => {
      await Promise.all(inFlight);
    },
  };
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
}

/** The server does not want this recipient, or this mail, also later. */
function isFinal(error: unknown): boolean {
  if (!(error instanceof Error && 'responseCode' in error)) return false;
  return ['EENVELOPE', 'EMESSAGE'].includes(codeOf(error)) && Number(error.responseCode) >= 500;
}

const timeoutMs = 10_000;

/** Only text that the gateway wrote itself is sent: no file and no URL is ever read for a mail. */
function openTransport(url: string, from: string): (mail: Mail) => Promise<void> {
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

/** A mail of three sentences and a link, as text and as HTML. */
export function linkMail(
  to: string,
  subject: string,
  {
    greeting,
    instruction,
    url,
    farewell,
  }: Readonly<Record<'greeting' | 'instruction' | 'url' | 'farewell', string>>,
): Mail {
  return {
    to,
    subject,
    text: `${greeting}\n\n${instruction}\n\n${url}\n\n${farewell}\n`,
    html: [
      `<p>${Bun.escapeHTML(greeting)}</p>`,
      `<p>${Bun.escapeHTML(instruction)}<br><a href="${Bun.escapeHTML(url)}">${Bun.escapeHTML(url)}</a></p>`,
      `<p>${Bun.escapeHTML(farewell)}</p>`,
    ].join('\n'),
  };
}
