/**
 * A port where connecting never completes: it is neither refused nor accepted. A separate process listens there and does
 * nothing else; once its backlog is full, the system drops further connections silently.
 */
import { readSync, writeSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { programCommand } from './program.ts';

export type DeafPort = Readonly<{ host: string; port: number; close: () => Promise<void> }>;

const host = '127.0.0.1';
/** How many are tried at once. Bun asks for a backlog of 512, whatever it is told. */
const fillAtOnce = 600;
const maxWaiting = 8_192;
/** On one machine a connection is made at once or not at all. */
const silenceMs = 250;

export async function startDeafPort(): Promise<DeafPort> {
  const child = Bun.spawn(programCommand('deaf-port'), {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const waiting: Socket[] = [];
  const close = async () => {
    for (const socket of waiting) socket.destroy();
    await child.stdin.end();
    await child.exited;
  };
  try {
    const port = await announcedPort(child.stdout);
    await fill(port, waiting);
    return { host, port, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function announcedPort(output: ReadableStream<Uint8Array>): Promise<number> {
  for await (const bytes of output) return Number(Buffer.from(bytes).toString());
  throw new Error('The process of the deaf port does not start.');
}

/** Connects until no connection succeeds; those made so far keep all others out. */
async function fill(port: number, made: Socket[]): Promise<void> {
  while (made.length < maxWaiting) {
    const tried = Array.from({ length: fillAtOnce }, () => connect({ host, port }));
    for (const socket of tried) {
      socket.on('connect', () => made.push(socket));
      socket.on('error', () => undefined);
    }
    const madeBefore = made.length;
    // Twice: a process that was paused looks at its sockets again only after the first silence.
    for (let silences = 0; silences < 2; ) {
      const before = made.length;
      await Bun.sleep(silenceMs);
      silences = made.length > before ? 0 : silences + 1;
    }
    for (const socket of tried) if (socket.connecting) socket.destroy();
    if (made.length === madeBefore) return;
  }
  throw new Error('The backlog of the system is unlimited.');
}

/** The process itself: it accepts nothing, because it never gets back to its event loop, and ends with its parent. */
export function listenAndIgnore(): Promise<number> {
  const server = createServer();
  return new Promise(() => {
    server.listen(0, host, () => {
      writeSync(1, `${(server.address() as AddressInfo).port}\n`);
      // The parent holds the other end; however it dies, the system closes that end.
      readSync(0, Buffer.alloc(1));
      process.exit(0);
    });
  });
}
