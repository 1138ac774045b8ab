/** A relay between a gateway and its database that behaves like a broken network or a proxy without a server. */
import { connect, createServer, type Socket } from 'node:net';

/** `close` accepts connections and closes them; `silent` accepts them and passes nothing on, in either direction. */
export type RelayMode = 'pass' | 'close' | 'silent';

export type DatabaseRelay = Readonly<{
  url: string;
  /** `close` closes open connections; with `silent` they stay open without an answer. */
  become: (mode: RelayMode) => void;
  /** Sends new connections to another server and closes the open ones. */
  leadTo: (url: string) => void;
  close: () => void;
}>;

export async function startDatabaseRelay(databaseUrl: string, atPort = 0): Promise<DatabaseRelay> {
  let target = new URL(databaseUrl);
  let mode: RelayMode = 'pass';
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    keep(client);
    if (mode === 'close') client.destroy();
    if (mode !== 'pass') return;
    const upstream = keep(connectTo(target));
    passOn(client, upstream);
    passOn(upstream, client);
  });

  function keep(socket: Socket): Socket {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    return socket;
  }

  /** What is lost while the relay is silent stays lost, so the two ends of such a connection never agree again. */
  function passOn(from: Socket, to: Socket): void {
    let isLost = false;
    from.on('data', (bytes) => {
      isLost ||= mode === 'silent';
      if (!isLost) to.write(bytes);
    });
    from.on('close', () => {
      if (mode !== 'silent') to.destroy();
    });
  }

  function closeAll(): void {
    for (const socket of sockets) socket.destroy();
  }

  const { promise: listening, resolve } = Promise.withResolvers<void>();
  server.listen(atPort, '127.0.0.1', resolve);
  await listening;
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  return {
    url: `postgres://${target.username}@127.0.0.1:${port}${target.pathname}`,
    become: (next) => {
      mode = next;
      if (mode === 'close') closeAll();
    },
    leadTo: (url) => {
      target = new URL(url);
      closeAll();
    },
    close: () => {
      closeAll();
      server.close();
    },
  };
}

function connectTo(url: URL): Socket {
  const path = url.searchParams.get('path');
  return path === null ? connect(Number(url.port || 5432), url.hostname) : connect(path);
}
