/** Mail over SMTP. Only text that the gateway wrote itself is sent: no file and no URL is ever read for a mail. */
import { createTransport } from 'nodemailer';

export type Mail = Readonly<{ to: string; subject: string; text: string; html: string }>;
export type Mailer = Readonly<{ send: (mail: Mail) => Promise<void> }>;

const patienceMs = 10_000;

export function openMailer(url: string, from: string): Mailer {
  const transport = createTransport({
    url,
    connectionTimeout: patienceMs,
    greetingTimeout: patienceMs,
    socketTimeout: patienceMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    send: async ({ to, subject, text, html }) => {
      await transport.sendMail({ from, to: { name: '', address: to }, subject, text, html });
    },
  };
}
