/** The client's address: the peer of the connection, or what a trusted proxy reports. */
import { formatAddress, type IpAddress, type IpNetwork, isInside, parseAddress } from '../lib/ip-address.ts';

/**
 * `forwardedFor` is the X-Forwarded-For header. Each proxy appends its peer on the right, so it is read from there:
 * everything left of the first address that is not a trusted proxy was written by that client, and may be anything.
 */
export function clientAddressOf(
  peer: string | null,
  forwardedFor: string | null,
  trustedProxies: readonly IpNetwork[],
): string | null {
  const isTrusted = (address: IpAddress) => trustedProxies.some((proxy) => isInside(address, proxy));
  let client = peer === null ? null : parseAddress(peer);
  if (client === null) return null;
  for (const hop of (forwardedFor ?? '').split(',').toReversed()) {
    if (!isTrusted(client)) break;
    const next = parseHop(hop.trim());
    // Nothing left of an unreadable entry can be trusted, so the proxy that passed it on counts as the client.
    if (next === null) break;
    client = next;
  }
  return formatAddress(client);
}

/** Some proxies add the port, and brackets around an IPv6 address. */
function parseHop(text: string): IpAddress | null {
  const [, bracketed, plain] =
    /^(?:\[([^\]]*)\](?::\d{1,5})?|(\d+\.\d+\.\d+\.\d+):\d{1,5})$/.exec(text) ?? [];
  return parseAddress(bracketed ?? plain ?? text);
}
