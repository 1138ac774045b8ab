import { describe, expect, test } from 'bun:test';
import { isIPv4, isIPv6 } from 'node:net';
import fc from 'fast-check';
import { clientAddressOf } from '../../src/http/client-address.ts';
import {
  clientNetworkOf,
  formatAddress,
  type IpNetwork,
  isInside,
  parseAddress,
  parseNetwork,
  siteNetworksOf,
} from '../../src/lib/ip-address.ts';

const networks = (...texts: string[]): IpNetwork[] =>
  texts.map((text) => {
    const network = parseNetwork(text);
    if (network === null) throw new Error(`${text} is no network.`);
    return network;
  });
const canonical = (text: string) => {
  const address = parseAddress(text);
  return address === null ? null : formatAddress(address);
};
const networkOf = (text: string) => {
  const address = parseAddress(text);
  return address === null ? null : clientNetworkOf(address);
};

describe('addresses', () => {
  test.each([
    ['127.0.0.1', '127.0.0.1'],
    ['::1', '::1'],
    ['::', '::'],
    ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
    ['fe80::1%eth0', 'fe80::1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:c000:0201', '192.0.2.1'],
    ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
    ['64:ff9b::192.0.2.1', '64:ff9b::c000:201'],
    ['::ffff:0:192.0.2.1', '::ffff:0:c000:201'],
  ])('%s is %s', (text, expected) => {
    expect(canonical(text)).toBe(expected);
  });

  test.each([
    '',
    ' ',
    'unknown',
    '1.2.3',
    '1.2.3.256',
    '01.2.3.4',
    '0x7f.1',
    '1.2.3.4 ',
    '[::1]',
    '::1::',
    ':::',
    '1::2::3',
    '12345::',
    '1.2.3.4:80',
    '_hidden',
  ])('"%s" is none', (text) => {
    expect(parseAddress(text)).toBeNull();
  });

  test('what is written from a number is read as the same number', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 2n ** 128n - 1n), (value) => {
        const text = formatAddress({ version: 6, value });
        expect(isIPv6(text)).toBe(true);
        if (value >> 32n !== 0xffffn) expect(parseAddress(text)).toEqual({ version: 6, value });
      }),
    );
    fc.assert(
      fc.property(fc.bigInt(0n, 2n ** 32n - 1n), (value) => {
        const text = formatAddress({ version: 4, value });
        expect(isIPv4(text)).toBe(true);
        expect(parseAddress(text)).toEqual({ version: 4, value });
        expect(parseAddress(`::ffff:${text}`)).toEqual({ version: 4, value });
      }),
    );
  });

  test('agrees with the platform on what an address is', () => {
    const almost = fc.string({
      unit: fc.constantFrom('0', '1', 'a', 'f', 'g', ':', '.', '%', '/'),
      maxLength: 24,
    });
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6(), almost), (text) => {
        expect(parseAddress(text) !== null).toBe(isIPv4(text) || isIPv6(text));
      }),
    );
  });
});

describe('networks', () => {
  test.each([
    ['10.0.0.0/8', '10.255.0.1', true],
    ['10.0.0.0/8', '11.0.0.1', false],
    ['10.1.2.3/8', '10.9.9.9', true],
    ['192.0.2.1', '192.0.2.1', true],
    ['192.0.2.1', '192.0.2.2', false],
    ['0.0.0.0/0', '255.255.255.255', true],
    ['0.0.0.0/0', '::1', false],
    ['::/0', '2001:db8::1', true],
    ['::/0', '127.0.0.1', false],
    ['fd00::/8', 'fdff::1', true],
    ['2001:db8::/33', '2001:db8:8000::1', false],
    ['10.0.0.0/8', '::ffff:10.1.1.1', true],
    ['::ffff:10.0.0.0/104', '10.1.1.1', true],
  ])('%s and %s', (network, address, expected) => {
    const [parsed] = networks(network);
    const inside = parseAddress(address);
    expect(parsed && inside && isInside(inside, parsed)).toBe(expected);
  });

  test.each([
    '',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '::/129',
    'all',
    '/8',
    '10.0.0.0/ 8',
  ])('"%s" is none', (text) => {
    expect(parseNetwork(text)).toBeNull();
  });

  test('an IPv6 client is part of a /56 and a /48, and an IPv4 one of nothing', () => {
    const sitesOf = (text: string) => siteNetworksOf(parseAddress(text) ?? { version: 4, value: 0n });
    expect(sitesOf('2001:db8:1:2ff::7')).toEqual(['2001:db8:1:200::/56', '2001:db8:1::/48']);
    expect(sitesOf('2001:db8:1:2ff::7')).toEqual(sitesOf('2001:db8:1:200:ffff::'));
    expect(sitesOf('2001:db8:1:300::7')).toEqual(['2001:db8:1:300::/56', '2001:db8:1::/48']);
    expect(sitesOf('192.0.2.1')).toEqual([]);
    expect(sitesOf('::ffff:192.0.2.1')).toEqual([]);
  });

  test('a client has its IPv4 address, or a /64, to itself', () => {
    expect(networkOf('192.0.2.1')).toBe('192.0.2.1/32');
    expect(networkOf('::ffff:192.0.2.1')).toBe('192.0.2.1/32');
    expect(networkOf('2001:db8:1:2:3:4:5:6')).toBe('2001:db8:1:2::/64');
    fc.assert(
      fc.property(
        fc.bigInt(0n, 2n ** 64n - 1n),
        fc.bigInt(0n, 2n ** 64n - 1n),
        fc.bigInt(0n, 2n ** 64n - 1n),
        (upper, one, other) => {
          const network = (lower: bigint) => clientNetworkOf({ version: 6, value: (upper << 64n) | lower });
          expect(network(one)).toBe(network(other));
        },
      ),
    );
  });
});

describe('whose address counts', () => {
  const trusted = networks('10.0.0.0/8', '::1', 'fd00::/8');

  test.each([
    ['no header', '10.0.0.1', null, '10.0.0.1'],
    ['a proxy that is trusted', '10.0.0.1', '198.51.100.4', '198.51.100.4'],
    ['a proxy that is not', '192.0.2.1', '198.51.100.4', '192.0.2.1'],
    ['what the client wrote itself', '10.0.0.1', '203.0.113.9, 198.51.100.4', '198.51.100.4'],
    [
      'a chain of trusted proxies',
      '10.0.0.1',
      '203.0.113.9, 198.51.100.4, 10.0.0.3, fd00::2',
      '198.51.100.4',
    ],
    ['a trusted address that a client claims', '10.0.0.1', '10.0.0.9, 198.51.100.4', '198.51.100.4'],
    ['only trusted addresses', '10.0.0.1', '10.0.0.2, 10.0.0.3', '10.0.0.2'],
    ['ports and brackets', '::1', '[2001:db8::1]:443', '2001:db8::1'],
    ['brackets without a port', '::1', '[2001:db8::1]', '2001:db8::1'],
    ['an IPv4 address with a port', '::1', '198.51.100.4:5555', '198.51.100.4'],
    ['an IPv4 address in IPv6', '::ffff:10.0.0.1', '::ffff:198.51.100.4', '198.51.100.4'],
    ['garbage', '10.0.0.1', 'unknown', '10.0.0.1'],
    ['garbage behind a proxy', '10.0.0.1', '198.51.100.4, _hidden, 10.0.0.3', '10.0.0.3'],
    ['an empty header', '10.0.0.1', '', '10.0.0.1'],
    ['empty entries', '10.0.0.1', '198.51.100.4, , ', '10.0.0.1'],
    ['nobody', null, '198.51.100.4', null],
    ['a peer without an address', 'socket', '198.51.100.4', null],
  ])('%s', (_, peer, header, expected) => {
    expect(clientAddressOf(peer, header, trusted)).toBe(expected);
  });

  const anyAddress = fc.oneof(fc.ipV4(), fc.ipV6());
  const anyHop = fc.oneof(
    anyAddress,
    fc.string({ maxLength: 20 }),
    fc.constantFrom('10.0.0.1', '::1', 'unknown', '', '"', '[::1]:1'),
  );
  const anyHeader = fc.array(anyHop, { maxLength: 6 }).map((hops) => hops.join(', '));
  const isTrusted = (text: string) => {
    const address = parseAddress(text);
    return address !== null && trusted.some((network) => isInside(address, network));
  };

  test('no header changes anything for a peer that is not trusted, or when nobody is', () => {
    fc.assert(
      fc.property(anyAddress, anyHeader, (peer, header) => {
        expect(clientAddressOf(peer, header, [])).toBe(canonical(peer));
        fc.pre(!isTrusted(peer));
        expect(clientAddressOf(peer, header, trusted)).toBe(canonical(peer));
      }),
    );
  });

  test('what is left of the first untrusted address changes nothing', () => {
    fc.assert(
      fc.property(
        anyHeader,
        anyAddress,
        fc.array(fc.constantFrom('10.1.1.1', 'fd00::1')),
        (left, client, proxies) => {
          fc.pre(!isTrusted(client));
          const right = [client, ...proxies].join(', ');
          expect(clientAddressOf('10.0.0.1', right, trusted)).toBe(canonical(client));
          expect(clientAddressOf('10.0.0.1', `${left}, ${right}`, trusted)).toBe(canonical(client));
        },
      ),
    );
  });

  test('whatever comes, the result is an address of this connection or of its header', () => {
    fc.assert(
      fc.property(anyAddress, anyHeader, (peer, header) => {
        const answer = clientAddressOf(peer, header, trusted);
        expect(answer !== null && (isIPv4(answer) || isIPv6(answer))).toBe(true);
      }),
    );
  });
});
