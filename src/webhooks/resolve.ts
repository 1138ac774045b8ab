/**
 * Finds the addresses of a name without the threads that files, passwords and the names of providers need: a name server that
 * never answers would occupy them.
 */
import { Resolver } from 'node:dns/promises';

const timeoutMs = 2_000;
const tries = 2;

export type Resolve = (name: string, ending: AbortSignal) => Promise<readonly string[]>;

/** For a name that a customer chose: what name servers say, of which `servers` replaces the host's, and no local file. */
export async function resolvePublic(
  name: string,
  ending: AbortSignal,
  servers: readonly string[] = [],
): Promise<readonly string[]> {
  const resolver = new Resolver({ timeout: timeoutMs, tries });
  if (servers.length > 0) resolver.setServers(servers);
  const cancel = () => resolver.cancel();
  ending.addEventListener('abort', cancel);
  try {
    const found = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    return found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
  } finally {
    ending.removeEventListener('abort', cancel);
  }
}

/** For a name that the operator chose, which may be in the hosts file or a search domain. */
export async function resolveLocal(name: string): Promise<readonly string[]> {
  const found = await Bun.dns.lookup(name, { backend: 'c-ares' });
  return found.map(({ address }) => address);
}
