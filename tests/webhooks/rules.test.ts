/** The pure parts of webhooks: signatures, retries, addresses. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { formatAddress, parseNetwork } from '../../src/lib/ip-address.ts';
import { parseEndpointUrl } from '../../src/webhooks/endpoint-url.ts';
import { isPublicAddress, mayBeCalled } from '../../src/webhooks/public-address.ts';
import { maxAttempts, pauseAfterMs } from '../../src/webhooks/retries.ts';
import { newSecret, showSecret, signaturesOf } from '../../src/webhooks/signature.ts';
import { decryptSecret, encryptSecret } from '../../src/webhooks/stored-secret.ts';
import { Targets } from '../../src/webhooks/targets.ts';

describe('signatures', () => {
  test('a known one', () => {
    const secret = Buffer.from('Tollgate-test-secret-32-bytes!!!');
    const body =
      '{"type":"credit.added","timestamp":"2026-11-05T00:00:00Z","data":{"account":"acct_42","amount":"25.000000000000","currency":"USD","note":"café"}}';
    expect(showSecret(secret)).toBe('whsec_VG9sbGdhdGUtdGVzdC1zZWNyZXQtMzItYnl0ZXMhISE=');
    expect(signaturesOf([secret], 'evt_01k9z3v7c8m4n5p6q7r8s9t0v1', 1_793_836_800, body)).toBe(
      'v1,JWr0iCBUDyDFI2RDq6ZEx/Fmrv3upSAs8qn/NmsuSrw=',
    );
  });

  test('the package of Standard Webhooks accepts any body, by either secret, and nothing else', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (body, other) => {
        const secrets = [newSecret(), newSecret()] as const;
        const seconds = Math.floor(Date.now() / 1000);
        const headers = {
          'webhook-id': 'evt_1',
          'webhook-timestamp': `${seconds}`,
          'webhook-signature': signaturesOf(secrets, 'evt_1', seconds, body),
        };
        const verify = (secret: Uint8Array, text: string) =>
          new Webhook(showSecret(secret)).verify(text, headers, { jsonParse: false });
        for (const secret of secrets) verify(secret, body);
        expect(() => verify(newSecret(), body)).toThrow();
        if (other !== body) expect(() => verify(secrets[0], other)).toThrow();
      }),
    );
  });

  test('a stored secret opens with its key, for its endpoint', () => {
    const key = Buffer.alloc(32, 1);
    const secret = newSecret();
    const stored = encryptSecret(secret, key, 'one');
    expect(secret.length).toBeGreaterThanOrEqual(24);
    expect(stored.includes(secret)).toBe(false);
    expect(decryptSecret(stored, key, 'one')).toEqual(secret);
    expect(decryptSecret(stored, key, 'two')).toBeNull();
    expect(decryptSecret(stored, Buffer.alloc(32, 2), 'one')).toBeNull();
    expect(decryptSecret(Buffer.alloc(1), key, 'one')).toBeNull();
  });
});

describe('retries', () => {
  const hourMs = 3_600_000;
  const random = fc.double({ min: 0, max: 1, noNaN: true });

  test('from five seconds to a day, over three days', () => {
    fc.assert(
      fc.property(fc.array(random, { minLength: maxAttempts, maxLength: maxAttempts }), (randoms) => {
        const pauses = randoms.map((one, place) => pauseAfterMs(place + 1, null, one));
        expect(pauses.at(-1)).toBeNull();
        const real = pauses.slice(0, -1).map((pause) => pause ?? 0);
        expect(real[0]).toBeGreaterThanOrEqual(4_500);
        expect(real[0]).toBeLessThanOrEqual(5_500);
        expect(Math.max(...real)).toBeLessThanOrEqual(24 * hourMs);
        const total = real.reduce((sum, pause) => sum + pause);
        expect(total).toBeGreaterThan(66 * hourMs);
        expect(total).toBeLessThan(84 * hourMs);
      }),
    );
  });

  test('a receiver can ask for more time, up to a day, and never for less', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), fc.nat(999_999_999), random, (attempts, seconds, one) => {
        const usual = pauseAfterMs(attempts, null, one) ?? 0;
        const asked = pauseAfterMs(attempts, seconds, one) ?? 0;
        expect(asked).toBeGreaterThanOrEqual(usual);
        expect(asked).toBeLessThanOrEqual(24 * hourMs);
        if (seconds <= 86_400) expect(asked).toBeGreaterThanOrEqual(Math.min(seconds * 1000, 24 * hourMs));
      }),
    );
  });
});

describe('addresses', () => {
  const reserved =
    '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 ::/128 ::1/128 64:ff9b:1::/48 100::/64 2001::/23 2001:db8::/32 2002::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8'.split(
      ' ',
    );
  const inside = fc.constantFrom(...reserved).chain((text) => {
    const network = parseNetwork(text);
    if (network === null) throw new Error(text);
    const { version, value, prefixBits } = network;
    const hostBits = BigInt((version === 4 ? 32 : 128) - prefixBits);
    return fc
      .bigInt({ min: 0n, max: (1n << hostBits) - 1n })
      .map((host) => ({ version, value: value | host }));
  });

  test('nothing in a private, local or reserved network is public, however it is wrapped', () => {
    fc.assert(
      fc.property(inside, (address) => {
        const text = formatAddress(address);
        expect(isPublicAddress(text)).toBe(false);
        if (address.version === 6) return;
        expect(isPublicAddress(`::ffff:${text}`)).toBe(false);
        expect(isPublicAddress(`64:ff9b::${text}`)).toBe(false);
        expect(isPublicAddress(`::${text}`)).toBe(false);
      }),
    );
  });

  test.each([
    ['93.184.215.14', true],
    ['::ffff:93.184.215.14', true],
    ['64:ff9b::93.184.215.14', true],
    ['64:ff9b::10.0.0.1', false],
    ['2606:2800:21f:cb07:6820:80da:af6b:8b2c', true],
    ['2002:5db8:d70e::1', false],
    ['fe80::1%eth0', false],
    ['localhost', false],
    ['', false],
  ])('%s', (text, expected) => {
    expect(isPublicAddress(text)).toBe(expected);
  });

  test('an operator can allow a network, and no more', () => {
    const allowed = ['10.1.0.0/16'].map((text) => parseNetwork(text)).filter((one) => one !== null);
    expect(mayBeCalled('10.1.2.3', allowed)).toBe(true);
    expect(mayBeCalled('::ffff:10.1.2.3', allowed)).toBe(true);
    expect(mayBeCalled('10.2.2.3', allowed)).toBe(false);
  });

  test.each([
    ['https://example.com/events?token=1', 'customer', 'https://example.com/events?token=1'],
    ['https://example.com:8443/', 'customer', 'https://example.com:8443/'],
    ['https://EXÄMPLE.com', 'customer', 'https://xn--exmple-cua.com/'],
    ['http://example.com/', 'customer', null],
    ['http://example.com/', 'operator', 'http://example.com/'],
    ['https://example.com:25/', 'customer', null],
    ['https://user:password@example.com/', 'customer', null],
    ['https://user:password@example.com/', 'operator', null],
    ['https://example.com/#part', 'customer', null],
    ['ftp://example.com/', 'operator', null],
    ['file:///etc/passwd', 'operator', null],
    ['example.com', 'customer', null],
    [`https://example.com/${'a'.repeat(2_000)}`, 'operator', null],
  ] as const)('%s of a %s', (text, rules, expected) => {
    expect(parseEndpointUrl(text, rules)).toBe(expected);
  });
});

describe('targets', () => {
  const bounds = { atOnce: 3, perSecond: 50 };

  test('whatever comes, few are inside at once, and few enter in any second', () => {
    const steps = fc.array(
      fc.record({
        afterMs: fc.integer({ min: 0, max: 100 }),
        leaves: fc.boolean(),
        name: fc.constantFrom('a', 'b'),
      }),
      { maxLength: 300 },
    );
    fc.assert(
      fc.property(steps, (given) => {
        let nowMs = 0;
        const targets = new Targets(bounds, () => nowMs);
        const inside = { a: [] as (() => void)[], b: [] as (() => void)[] };
        const enteredAt = { a: [] as number[], b: [] as number[] };
        for (const { afterMs, leaves, name } of given) {
          nowMs += afterMs;
          if (leaves) inside[name].shift()?.();
          const { waitMs, leave } = targets.enter(name);
          if (waitMs > 0) continue;
          inside[name].push(leave);
          enteredAt[name].push(nowMs);
          expect(inside[name].length).toBeLessThanOrEqual(bounds.atOnce);
          const inLastSecond = enteredAt[name].filter((at) => at > nowMs - 1000);
          // A burst, and what the rate allows.
          expect(inLastSecond.length).toBeLessThanOrEqual(10 + bounds.perSecond);
        }
      }),
    );
  });

  test('those that have to wait come back one after the other, and nobody is counted twice for leaving', () => {
    let nowMs = 0;
    const targets = new Targets(bounds, () => nowMs);
    const entries = Array.from({ length: 1_003 }, () => targets.enter('a'));
    const waits = entries.slice(3).map(({ waitMs }) => waitMs);
    expect(entries.slice(0, 3).map(({ waitMs }) => waitMs)).toEqual([0, 0, 0]);
    expect([waits[0], waits[1], waits[999]]).toEqual([120, 140, 20_100]);
    entries[0]?.leave();
    entries[0]?.leave();
    nowMs = 1_000;
    expect(targets.enter('a').waitMs).toBe(0);
    expect(targets.enter('a').waitMs).toBeGreaterThan(0);
    expect(targets.enter('b').waitMs).toBe(0);
  });

  test('those that nobody goes to any more are forgotten', () => {
    let nowMs = 0;
    const targets = new Targets(bounds, () => nowMs);
    for (let place = 0; place < 100_000; place += 1) {
      nowMs += 1;
      targets.enter(`${place}`).leave();
    }
    expect(targets.size).toBeLessThanOrEqual(1_000);
  });
});
