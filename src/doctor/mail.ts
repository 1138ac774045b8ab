import { createTransport } from 'nodemailer';
import type { MailSettings } from '../config.ts';
import { within } from '../lib/within.ts';
import { codeOf, type Finding, good, problem } from './finding.ts';

/** Connects, greets and signs in as for a mail, but sends none. The finding contains no address and no password. */
export async function examineMail(mail: MailSettings | null, patienceMs: number): Promise<Finding> {
  if (mail === null) return good('mail', 'not set up; for forgotten passwords, use tollgate user reset-link');
  const { host } = new URL(mail.url);
  const transport = createTransport({
    url: mail.url,
    connectionTimeout: patienceMs,
    greetingTimeout: patienceMs,
    socketTimeout: patienceMs,
  });
  try {
    await within(patienceMs, transport.verify());
    return good('mail', `${host} accepts the connection and the login`);
  } catch (error) {
    const code = codeOf(error);
    return code === 'EAUTH'
      ? problem('mail', `${host} rejects the login.`, 'Check the user and password in SMTP_URL.')
      : problem(
          'mail',
          `${host} cannot be used (${code}).`,
          'Check SMTP_URL, and whether this machine can reach the server.',
        );
  } finally {
    transport.close();
  }
}
