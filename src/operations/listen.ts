import type { Config } from '../config.ts';
import { isGateway } from '../lib/gateway-address.ts';
import { localOriginOf } from '../lib/ip-address.ts';
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
  /** Accepts no more connections and closes those that are idle. Open requests go on, and then their connection closes. */
  stopAccepting: () => void;
  pendingCount: () => number;
  /** Closes every connection. */
  closeAll: () => Promise<void>;
}>;

/** Far above the limit of any endpoint, so that our own code rejects a body and not the server with a bare 413. */
const maxRequestBodySize = 1024 ** 3;

/** Long enough for clients that reuse a connection for their next request. */
export const defaultIdleSeconds = 120;

type Place = Pick<Config, 'host' | 'port'> & Readonly<{ isShared?: boolean }>;

/**
 * Throws unless the port is free. The gateway listens last, and nobody should wait for a new database or a migration only
 * to read that the port is in use.
 */
export async function checkPlace(place: Place): Promise<void> {
  if (place.port === 0) return;
  for (const deadlineMs = performance.now() + maxWaitMs; ; await Bun.sleep(retryMs)) {
    try {
      await findSharedPlace(place);
      return;
    } catch (error) {
      if (!(error instanceof PortInUseError)) throw error;
      if (performance.now() < deadlineMs) continue;
      const origin = localOriginOf(place);
      throw (await isGateway(origin, answerMs)) ? new OperatorError(alreadyThere(origin, place)) : error;
    }
  }
}

/** A killed gateway may be started again before its workers have noticed and left the port. */
const maxWaitMs = 1_000;
const retryMs = 50;
const answerMs = 2_000;

class PortInUseError extends OperatorError {}

function alreadyThere(origin: string, { port }: Place): string {
  return `A gateway already runs at ${origin}. To use that one, open the address; to start it again, stop it first. For another one beside it, set PORT to a free port, for example PORT=${port + 1}.`;
}

/** Where processes that will share a port can listen: on the configured one, if it is free, or on any that is. */
export async function findSharedPlace(
  place: Place,
): Promise<Pick<Listening, 'address' | 'localOrigin'> & { port: number }> {
  const { address, localOrigin, closeAll } = listen(place, { routes: {}, fetch: async () => new Response() });
  await closeAll();
  // The default port of the scheme is not part of an origin.
  return { address, localOrigin, port: Number(new URL(address).port) || place.port };
}

/** `isShared` lets other processes of this gateway listen on the same port; the system divides the connections. */
export function listen(
  { host, port, isShared = false }: Place,
  { routes, fetch }: Routes,
  idleSeconds = defaultIdleSeconds,
): Listening {
  const server = bind();
  let stopped: Promise<void> = Promise.resolve();
  const isWildcard = ['0.0.0.0', '[::]'].includes(server.url.hostname);
  return {
    address: server.url.origin,
    localOrigin: isWildcard ? `http://127.0.0.1:${server.port}` : server.url.origin,
    stopAccepting: () => {
      stopped = server.stop();
    },
    pendingCount: () => server.pendingRequests,
    closeAll: async () => {
      await server.stop(true);
      await stopped;
    },
  };

  function bind() {
    try {
      // With development: false, Bun would otherwise let a second gateway share the port unnoticed.
      return Bun.serve({
        port,
        hostname: host,
        reusePort: isShared,
        routes,
        fetch,
        idleTimeout: idleSeconds,
        maxRequestBodySize,
        development: false,
      });
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : null;
      if (code === 'EADDRINUSE')
        throw new PortInUseError(
          `Port ${port} on ${host} is in use. Set PORT to a free port, for example PORT=8081.`,
        );
      const reason = error instanceof Error ? error.message : String(error);
      throw new OperatorError(`Cannot listen on ${host} port ${port}: ${reason}. Check HOST and PORT.`);
    }
  }
}
