/** IP addresses and networks as numbers. An IPv4-mapped IPv6 address counts as the IPv4 address. */
import { isIPv4, isIPv6 } from 'node:net';

export type IpAddress = Readonly<{ version: 4 | 6; value: bigint }>;
export type IpNetwork = IpAddress & Readonly<{ prefixBits: number }>;

const bitsOf = { 4: 32, 6: 128 } as const;
/** The network that one household or rented server gets, so that a client cannot hide behind its many addresses. */
const clientPrefixBits = { 4: 32, 6: 64 } as const;
/** The network that one site gets, from a frugal provider and from a generous one. It contains many of the above. */
const sitePrefixBits = { 4: [], 6: [56, 48] } as const;
/** ::ffff:0:0/96 */
const mappedPrefix = 0xffffn;

/** Null for anything but an address. The zone of a link-local one is dropped. */
export function parseAddress(text: string): IpAddress | null {
  const address = parseAsWritten(text);
  return address !== null && isMapped(address) ? unmapped(address) : address;
}

/** An address, or a network such as 10.0.0.0/8. */
export function parseNetwork(text: string): IpNetwork | null {
  const [written = '', prefix, ...rest] = text.split('/');
  const address = parseAsWritten(written);
  if (address === null || rest.length > 0) return null;
  if (prefix !== undefined && !/^\d{1,3}$/.test(prefix)) return null;
  const bits = bitsOf[address.version];
  const prefixBits = prefix === undefined ? bits : Number(prefix);
  if (prefixBits > bits) return null;
  const mappedBits = bitsOf[6] - bitsOf[4];
  return isMapped(address) && prefixBits >= mappedBits
    ? { ...unmapped(address), prefixBits: prefixBits - mappedBits }
    : { ...address, prefixBits };
}

export function isInside(address: IpAddress, network: IpNetwork): boolean {
  const hostBits = BigInt(bitsOf[network.version] - network.prefixBits);
  return address.version === network.version && address.value >> hostBits === network.value >> hostBits;
}

/** The network that a client usually has to itself, as text: the IPv4 address, or the /64 of an IPv6 one. */
export function clientNetworkOf(address: IpAddress): string {
  return networkOf(address, clientPrefixBits[address.version]);
}

/** The same for an address as text. Clients whose address is unknown share one network. */
export function networkOfClient(clientAddress: string | null): string {
  const address = clientAddress === null ? null : parseAddress(clientAddress);
  return address === null ? '' : clientNetworkOf(address);
}

/** The wider networks that a client may have, the narrowest first. None for IPv4, where addresses are scarce. */
export function siteNetworksOf(address: IpAddress): string[] {
  return sitePrefixBits[address.version].map((prefixBits) => networkOf(address, prefixBits));
}

function networkOf({ version, value }: IpAddress, prefixBits: number): string {
  const hostBits = BigInt(bitsOf[version] - prefixBits);
  return `${formatAddress({ version, value: (value >> hostBits) << hostBits })}/${prefixBits}`;
}

export function formatAddress({ version, value }: IpAddress): string {
  if (version === 4) return partsOf(value, 4, 8n).join('.');
  const groups = partsOf(value, 8, 16n).map((group) => group.toString(16));
  return shortened(groups);
}

function parseAsWritten(text: string): IpAddress | null {
  if (isIPv4(text)) return { version: 4, value: parseIPv4(text) };
  if (isIPv6(text)) return { version: 6, value: parseIPv6(text.replace(/%.*$/s, '')) };
  return null;
}

function isMapped({ version, value }: IpAddress): boolean {
  return version === 6 && value >> 32n === mappedPrefix;
}

function unmapped({ value }: IpAddress): IpAddress {
  return { version: 4, value: value & 0xffff_ffffn };
}

function parseIPv4(text: string): bigint {
  return text.split('.').reduce((value, part) => (value << 8n) | BigInt(part), 0n);
}

function parseIPv6(text: string): bigint {
  const [head = '', tail] = text.split('::');
  const before = groupsOf(head);
  const after = groupsOf(tail ?? '');
  const zeros = tail === undefined ? [] : Array<bigint>(8 - before.length - after.length).fill(0n);
  return [...before, ...zeros, ...after].reduce((value, group) => (value << 16n) | group, 0n);
}

/** The last two groups may be written as an IPv4 address. */
function groupsOf(text: string): bigint[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [BigInt(`0x${group}`)];
    const value = parseIPv4(group);
    return [value >> 16n, value & 0xffffn];
  });
}

function partsOf(value: bigint, count: number, bits: bigint): number[] {
  return Array.from({ length: count }, (_, place) =>
    Number((value >> (bits * BigInt(count - 1 - place))) & ((1n << bits) - 1n)),
  );
}

/** Leaves out the longest run of zeros, the first of several, as in RFC 5952. */
function shortened(groups: readonly string[]): string {
  const text = groups.join(':');
  const runs = [...text.matchAll(/\b0(?::0)+\b/g)];
  const longest = runs.reduce<RegExpExecArray | null>(
    (best, run) => (best === null || run[0].length > best[0].length ? run : best),
    null,
  );
  if (longest === null) return text;
  const end = longest.index + longest[0].length;
  return `${text.slice(0, longest.index).replace(/:$/, '')}::${text.slice(end).replace(/^:/, '')}`;
}

/** The gateway's address for a browser on this machine. */
export function localOriginOf({ host, port }: Readonly<{ host: string; port: number }>): string {
  const reachable = ['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}
