/** Servers that receive webhooks, with an answer that the test chooses. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from './eventually.ts';

const folder = join(import.meta.dir, '../webhooks/fixtures');
/** A certificate of receiver.test and 127.0.0.2, which has signed itself. */
export const receiverCertificate = join(folder, 'receiver.pem');
export const receiverKey = join(folder, 'receiver.key');

export type Received = Readonly<{
  path: string;
  headers: Record<string, string>;
  text: string;
  body: {
    id: string;
    type: string;
    sequence: number;
    account_id: string | null;
    data: Record<string, unknown>;
  };
}>;

export type Receiver = Readonly<{
  url: string;
  received: Received[];
  /** Waits for one that is like this. */
  next: (what: string, isWanted: (one: Received) => boolean) => Promise<Received>;
  stop: () => Promise<void>;
}>;

export function startReceiver(
  answer: (one: Received) => Response | Promise<Response> = () => new Response(null, { status: 204 }),
  { isSecure = false, hostname = '127.0.0.1' } = {},
): Receiver {
  const received: Received[] = [];
  const server = Bun.serve({
    port: 0,
    hostname,
    idleTimeout: 60,
    ...(isSecure
      ? {
          tls: {
            cert: readFileSync(receiverCertificate, 'utf8'),
            key: readFileSync(receiverKey, 'utf8'),
          },
        }
      : {}),
    fetch: async (request) => {
      const text = await request.text();
      const one = {
        path: new URL(request.url).pathname,
        headers: Object.fromEntries(request.headers),
        text,
        body: JSON.parse(text) as Received['body'],
      };
      received.push(one);
      return await answer(one);
    },
  });
  return {
    url: `${isSecure ? 'https' : 'http'}://${hostname}:${server.port}/events`,
    received,
    next: (what, isWanted) => eventually(what, () => received.find(isWanted)),
    stop: () => server.stop(true),
  };
}
