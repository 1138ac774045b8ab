import type { Config } from '../config.ts';
import { OperatorError } from '../lib/operator-error.ts';

type Listener = (
  request: Request,
  host: {
    timeout: (request: Request, seconds: number) => void;
    requestIP: (request: Request) => { address: string } | null;
  },
) => Promise<Response>;
type Routes = Readonly<{ routes: Record<string, Record<string, Listener>>; fetch: Listener }>;

export type Listening = Readonly<{
  /** Where it listens, as configured. */
  address: string;
  /** An address that a browser on this machine can open, also when the gateway listens on all interfaces. */
  localOrigin: string;
  /** Accepts nothing new and lets requests in flight finish, within bounds. `isBusy` reports work without a client. */
  drain: (isBusy: () => boolean) => Promise<void>;
  /** Cuts off what is left, and waits a moment for what that leads to. */
  end: (isBusy: () => boolean) => Promise<void>;
}>;

const drainMs = 26_000;
const farewellMs = 3_000;
const drainPollMs = 20;

/** Far above what any endpoint takes, so that a body is refused by our own code and not by the server's bare 413. */
const largestBodyBytes = 1024 ** 3;

/** For a connection on which nothing moves: long enough for people, and for a client that keeps one for the next request. */
export const defaultIdleSeconds = 120;

export function listen(
  { host, port }: Pick<Config, 'host' | 'port'>,
  { routes, fetch }: Routes,
  idleSeconds = defaultIdleSeconds,
): Listening {
  const server = bind();
  let stopped: Promise<void> = Promise.resolve();
  const isWildcard = ['0.0.0.0', '[::]'].includes(server.url.hostname);
  return {
    address: server.url.origin,
    localOrigin: isWildcard ? `http://127.0.0.1:${server.port}` : server.url.origin,
    drain: async (isBusy) => {
      stopped = server.stop();
      await waitWhile(() => server.pendingRequests > 0 || isBusy(), drainMs);
    },
    end: async (isBusy) => {
      await server.stop(true);
      await stopped;
      await waitWhile(isBusy, farewellMs);
    },
  };

  function bind() {
    try {
      // Without reusePort set, development: false would let a second process share the port unnoticed.
      return Bun.serve({
        port,
        hostname: host,
        reusePort: false,
        routes,
        fetch,
        idleTimeout: idleSeconds,
        maxRequestBodySize: largestBodyBytes,
        development: false,
      });
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : null;
      if (code === 'EADDRINUSE')
        throw new OperatorError(`Port ${port} on ${host} is in use. Set PORT to a free one.`);
      const reason = error instanceof Error ? error.message : String(error);
      throw new OperatorError(`Cannot listen on ${host} port ${port}: ${reason}. Check HOST and PORT.`);
    }
  }
}

async function waitWhile(isBusy: () => boolean, maxMs: number): Promise<void> {
  const deadline = performance.now() + maxMs;
  while (isBusy() && performance.now() < deadline) await Bun.sleep(drainPollMs);
}
