/**
 * A client that sends exactly the given bytes. It waits for the gateway to end the connection: a client that ends its own
 * half counts as gone, and may get no response. leaving-client.ts is for clients that leave.
 */
import { connect, type Socket } from 'node:net';

export type RawClient = Readonly<{
  socket: Socket;
  /** Everything it received so far. */
  received: () => string;
  /** What it received, as soon as this holds or the connection has ended. */
  until: (isEnough: (received: string) => boolean) => Promise<string>;
  /** What it received in all, once the gateway has ended the connection. */
  ended: Promise<string>;
}>;

export function openRawClient(origin: string): RawClient {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  let received = '';
  let isOver = false;
  const waiting = new Set<() => void>();
  const wake = () => {
    for (const resume of waiting) resume();
  };
  socket.on('data', (data) => {
    received += data.toString('latin1');
    wake();
  });
  // A reset connection has ended.
  socket.on('error', () => undefined);
  socket.on('close', () => {
    isOver = true;
    wake();
  });
  const until = (isEnough: (text: string) => boolean): Promise<string> =>
    new Promise((resolve) => {
      const look = () => {
        if (!isOver && !isEnough(received)) return;
        waiting.delete(look);
        resolve(received);
      };
      waiting.add(look);
      look();
    });
  return { socket, received: () => received, until, ended: until(() => false) };
}

/** Writes no faster than the other side takes it; true when all of it is written, false when the connection ended. */
export async function writeAll(socket: Socket, chunk: Uint8Array, count: number): Promise<boolean> {
  for (let sent = 0; sent < count; sent++) {
    if (socket.destroyed) return false;
    if (socket.write(chunk)) continue;
    const { promise, resolve } = Promise.withResolvers<void>();
    socket.once('drain', resolve);
    socket.once('close', resolve);
    await promise;
    socket.off('drain', resolve);
    socket.off('close', resolve);
  }
  return !socket.destroyed;
}
