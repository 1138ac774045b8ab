/**
 * Whether an address is on the public internet. A customer's endpoint must be, or the gateway could be made to talk to what
 * only it can reach. What is not known to be public is not.
 */
import { type IpAddress, type IpNetwork, isInside, parseAddress, parseNetwork } from '../lib/ip-address.ts';

const reserved4 = networks(
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
);

/** All unicast addresses that were ever given out. */
const unicast6 = network('2000::/3');
/** Of these: protocols, documentation, and 6to4, behind which any IPv4 address may be. */
const reserved6 = networks('2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20');
/** An IPv4 address behind a translator, in its last 32 bits. */
const translated = network('64:ff9b::/96');

export function isPublicAddress(text: string): boolean {
  const address = parseAddress(text);
  return address !== null && isPublic(address);
}

/** `allowed` are networks that the operator lets customers' endpoints be in. */
export function mayBeCalled(text: string, allowed: readonly IpNetwork[]): boolean {
  const address = parseAddress(text);
  if (address === null) return false;
  return isPublic(address) || allowed.some((one) => isInside(address, one));
}

function isPublic(address: IpAddress): boolean {
  if (address.version === 4) return !reserved4.some((one) => isInside(address, one));
  if (isInside(address, translated)) return isPublic({ version: 4, value: address.value & 0xffff_ffffn });
  return isInside(address, unicast6) && !reserved6.some((one) => isInside(address, one));
}

function networks(...texts: string[]): IpNetwork[] {
  return texts.map(network);
}

function network(text: string): IpNetwork {
  const parsed = parseNetwork(text);
  if (parsed === null) throw new Error(`${text} is no network.`);
  return parsed;
}
