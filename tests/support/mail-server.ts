/** A mail server on a real socket that keeps the mails it receives. It speaks as much SMTP as a client needs. */
import type { Socket } from 'bun';
import { eventually } from './eventually.ts';

export type ReceivedMail = Readonly<{ from: string; to: string; data: string }>;

export type MailServer = Readonly<{
  url: string;
  mails: ReceivedMail[];
  /** From now on refuses every recipient and names it in the error, as servers do. */
  refuse: (refuses: boolean) => void;
  /** Waits for the next mail to this address. */
  next: (to: string) => Promise<ReceivedMail>;
  stop: () => void;
}>;

type Conversation = { line: string; isKnown: boolean; from: string; to: string; data: string | null };

/** The credentials that a client must send first. */
export const mailPassword = 'mail@secret canary';
const credentials = Buffer.from(`\0mailer\0${mailPassword}`).toString('base64');

export function startMailServer(): MailServer {
  const mails: ReceivedMail[] = [];
  let refusesAll = false;

  function reply(socket: Socket<Conversation>, line: string): void {
    const state = socket.data;
    if (state.data !== null) {
      if (line !== '.') state.data += `${line}\n`;
      else {
        mails.push({ from: state.from, to: state.to, data: state.data });
        state.data = null;
        socket.write('250 Kept\r\n');
      }
      return;
    }
    const verb = line.slice(0, 4).toUpperCase();
    if (verb === 'MAIL') state.from = addressIn(line);
    if (verb === 'RCPT') state.to = addressIn(line);
    if (verb === 'DATA') state.data = '';
    if (line === `AUTH PLAIN ${credentials}`) state.isKnown = true;
    if (verb === 'EHLO') socket.write('250-mail.test\r\n250 AUTH PLAIN\r\n');
    else if (verb === 'AUTH') socket.write(state.isKnown ? '235 Welcome\r\n' : '535 Who?\r\n');
    else if (verb === 'MAIL' && !state.isKnown) socket.write('530 Who are you?\r\n');
    else if (verb === 'RCPT' && refusesAll) socket.write(`550 No mailbox ${state.to} here\r\n`);
    else if (verb === 'DATA') socket.write('354 Go on\r\n');
    else if (verb === 'QUIT') socket.end('221 Bye\r\n');
    else socket.write('250 OK\r\n');
  }

  const server = Bun.listen<Conversation>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open: (socket) => {
        socket.data = { line: '', isKnown: false, from: '', to: '', data: null };
        socket.write('220 mail.test ESMTP\r\n');
      },
      data: (socket, bytes) => {
        const lines = (socket.data.line + bytes.toString()).split('\r\n');
        socket.data.line = lines.pop() ?? '';
        for (const line of lines) reply(socket, line);
      },
    },
  });
  let seen = 0;

  return {
    url: `smtp://mailer:${encodeURIComponent(mailPassword)}@127.0.0.1:${server.port}`,
    mails,
    refuse: (refuses) => {
      refusesAll = refuses;
    },
    next: (to) =>
      eventually(`a mail to ${to}`, () => {
        const at = mails.findIndex((mail, place) => place >= seen && mail.to === to);
        if (at >= 0) seen = at + 1;
        return mails[at];
      }),
    stop: () => server.stop(true),
  };
}

function addressIn(line: string): string {
  return /<([^>]*)>/.exec(line)?.[1] ?? '';
}

/** The plain text of a mail, with the line breaks of its transport undone. */
export function textOf({ data }: ReceivedMail): string {
  const isQuoted = /Content-Transfer-Encoding: quoted-printable/i.test(data);
  return isQuoted
    ? data
        .replaceAll(/=\n/g, '')
        .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    : data;
}
