/**
 * A plain TCP balancer, as simple as possible: each connection goes to the next gateway that is ready, and nothing is ever
 * retried. It checks /readyz of every gateway, and takes one out of rotation when that is not 200.
 */
import { connect, createServer, type Socket } from 'node:net';

export type Balancer = Readonly<{
  origin: string;
  /** The gateways that get new connections. */
  readyCount: () => number;
  stop: () => Promise<void>;
}>;

type Backend = { readonly port: number; isReady: boolean };

const checkTimeoutMs = 5_000;

export async function startBalancer(ports: readonly number[], checkEveryMs: number): Promise<Balancer> {
  const backends: readonly Backend[] = ports.map((port) => ({ port, isReady: false }));
  const sockets = new Set<Socket>();
  let turn = 0;
  let isStopped = false;

  const server = createServer((client) => {
    const ready = backends.filter(({ isReady }) => isReady);
    turn += 1;
    const chosen = ready[turn % ready.length];
    if (chosen === undefined) {
      client.destroy();
      return;
    }
    const backend = connect(chosen.port, '127.0.0.1');
    join(client, backend);
    join(backend, client);
  });

  /** Each side gets what the other sends, its end included; when one breaks, so does the other. */
  function join(from: Socket, to: Socket): void {
    sockets.add(from);
    from.setNoDelay(true);
    from.pipe(to);
    from.on('error', () => to.destroy());
    from.on('close', () => {
      sockets.delete(from);
      if (!from.readableEnded) to.destroy();
    });
  }

  async function watch(backend: Backend): Promise<void> {
    while (!isStopped) {
      backend.isReady = await isReady(backend);
      await Bun.sleep(checkEveryMs);
    }
  }

  await Promise.all(
    backends.map(async (backend) => {
      backend.isReady = await isReady(backend);
    }),
  );
  const watching = Promise.all(backends.map(watch));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The balancer has no port.');
  return {
    origin: `http://127.0.0.1:${address.port}`,
    readyCount: () => backends.filter(({ isReady }) => isReady).length,
    stop: async () => {
      isStopped = true;
      server.close();
      for (const socket of sockets) socket.destroy();
      await watching;
    },
  };
}

async function isReady({ port }: Backend): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/readyz`, {
      keepalive: false,
      signal: AbortSignal.timeout(checkTimeoutMs),
    });
    await response.text();
    return response.status === 200;
  } catch {
    return false;
  }
}
