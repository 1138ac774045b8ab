/** A client that leaves, and knows that the gateway has noticed: fetch closes its connection some time after it was aborted. */
import { openRawClient, type RawClient } from './raw-socket.ts';

export const asHolderOf = (key: string) => ({ authorization: `Bearer ${key}` });

export type LeavingClient = RawClient &
  Readonly<{ requestId: () => Promise<string>; leave: () => Promise<void> }>;

/** Has sent its request, and waits for what comes. */
export function openLeavingClient(
  origin: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: object,
): LeavingClient {
  const client = openRawClient(origin);
  const text = JSON.stringify(body);
  const head = [
    `POST ${path} HTTP/1.1`,
    `Host: ${new URL(origin).host}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(text)}`,
  ];
  client.socket.write(`${head.join('\r\n')}\r\n\r\n${text}`);
  const leave = async () => {
    client.socket.destroy();
    await client.ended;
    // Whoever connects after the end of another connection is answered after that end has been noticed.
    await fetch(`${origin}/healthz`, { keepalive: false });
  };
  const pattern = /x-service-request-id: (req_[0-9a-f]{32})/i;
  const requestId = async () =>
    pattern.exec(await client.until((received) => pattern.test(received)))?.[1] ?? '';
  return { ...client, requestId, leave };
}
