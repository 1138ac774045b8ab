/** A client that leaves and knows when the gateway has noticed: fetch closes its connection some time after an abort. */
import { openRawClient, type RawClient } from './raw-socket.ts';

export const asHolderOf = (key: string) => ({ authorization: `Bearer ${key}` });

export type LeavingClient = RawClient &
  Readonly<{ requestId: () => Promise<string>; leave: () => Promise<void> }>;

/** It has sent its request, and waits for the response. */
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
    // A connection made after another one ended is answered only after that end has been noticed.
    await fetch(`${origin}/healthz`, { keepalive: false });
  };
  const pattern = /x-service-request-id: (req_[0-9a-f]{32})/i;
  const requestId = async () =>
    pattern.exec(await client.until((received) => pattern.test(received)))?.[1] ?? '';
  return { ...client, requestId, leave };
}
