/** How many requests may be refused, by a clock that the test moves. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ApiError } from '../../src/errors.ts';
import { RequestContext } from '../../src/http/context.ts';
import { type Authenticate, authenticateWith } from '../../src/keys/authenticate.ts';
import type { KeyCache } from '../../src/keys/key-cache.ts';
import { generateKey } from '../../src/keys/key-format.ts';
import { Refusals } from '../../src/keys/refusals.ts';
import { RecentMap } from '../../src/lib/recent-map.ts';

const key = { id: 'key', requestsPerMinute: 60 };
const noKey = () => new ApiError('invalid_api_key');

function counting() {
  const clock = { nowMs: 1_000 };
  return { clock, refusals: new Refusals(() => clock.nowMs) };
}

function codeOf(run: () => void): string | null {
  try {
    run();
  } catch (thrown) {
    if (thrown instanceof ApiError) return thrown.code;
    throw thrown;
  }
  return null;
}

test.each([
  [1, 6_000],
  [6_000, 6_000],
  [6_001, 6_001],
  [20_000, 20_000],
])('a key with %d requests per minute may have %d refused in a minute', (requestsPerMinute, limit) => {
  const { clock, refusals } = counting();
  const caller = { id: 'key', requestsPerMinute };
  for (let count = 0; count < limit; count++) {
    expect(codeOf(() => refusals.checkKey(caller))).toBeNull();
    refusals.countKey(caller, 'invalid_json', 0);
  }
  expect(codeOf(() => refusals.checkKey(caller))).toBe('rate_limit_exceeded');
  expect(codeOf(() => refusals.checkKey({ ...caller, id: 'another' }))).toBeNull();
  clock.nowMs += 60_000 / limit + 0.01;
  expect(codeOf(() => refusals.checkKey(caller))).toBeNull();
  refusals.countKey(caller, 'invalid_json', 0);
  expect(codeOf(() => refusals.checkKey(caller))).toBe('rate_limit_exceeded');
});

test('the error says what was wrong last, when to come back, and where it is explained', () => {
  const { refusals } = counting();
  for (let count = 0; count < 6_000; count++) refusals.countKey(key, 'invalid_json', 0);
  refusals.countKey(key, 'model_not_found', 0);
  expect(() => refusals.checkKey(key)).toThrow(
    expect.objectContaining({
      message: expect.stringContaining('the last one with model_not_found.'),
      retryAfterSeconds: 1,
      docs: 'keys#refused-requests',
    }),
  );
});

test('requests in progress when the limit was reached do not make the wait longer', () => {
  const { clock, refusals } = counting();
  for (let count = 0; count < 50_000; count++) refusals.countKey(key, 'invalid_json', 0);
  clock.nowMs += 20.1;
  expect(codeOf(() => refusals.checkKey(key))).toBeNull();
});

test('after a large body the wait is as long as its weight', () => {
  const { clock, refusals } = counting();
  for (let count = 0; count < 6_000; count++) refusals.countKey(key, 'invalid_json', 0);
  clock.nowMs += 10.1;
  refusals.countKey(key, 'invalid_json', 20_000_000);
  expect(() => refusals.checkKey(key)).toThrow(expect.objectContaining({ retryAfterSeconds: 13 }));
  clock.nowMs += 12_000;
  expect(codeOf(() => refusals.checkKey(key))).toBe('rate_limit_exceeded');
  clock.nowMs += 1_000;
  expect(codeOf(() => refusals.checkKey(key))).toBeNull();
});

test('a body counts for more by its size: in any minute at most twice the limit is refused, however requests are spread', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(200), { minLength: 1_500, maxLength: 3_000 }), (gapsMs) => {
      const { clock, refusals } = counting();
      const refusedAt: number[] = [];
      for (const gapMs of gapsMs) {
        clock.nowMs += gapMs < 150 ? 0 : gapMs;
        if (codeOf(() => refusals.checkKey(key)) !== null) continue;
        refusals.countKey(key, 'invalid_json', 9 * 16_384);
        refusedAt.push(clock.nowMs);
      }
      for (const [index, atMs] of refusedAt.entries())
        expect((refusedAt[index + 1_200] ?? Number.POSITIVE_INFINITY) - atMs).toBeGreaterThan(59_000);
    }),
    { numRuns: 20 },
  );
});

test('a network without valid keys gets 401 six thousand times a minute, and then 429 with the same reason', () => {
  const { clock, refusals } = counting();
  const codeFor = (address: string | null) => refusals.ofNetwork(address, noKey()).code;
  for (let count = 0; count < 6_000; count++) expect(codeFor('192.0.2.1')).toBe('invalid_api_key');
  const limited = refusals.ofNetwork('192.0.2.1', noKey());
  expect(limited).toMatchObject({
    code: 'rate_limit_exceeded',
    retryAfterSeconds: 1,
    docs: 'keys#refused-requests',
  });
  expect(limited.message).toMatch(/^The API key is missing.* 6000 requests a minute without a valid key\.$/);
  expect(['192.0.2.2', null, '2001:db8::1'].map(codeFor)).toEqual(Array(3).fill('invalid_api_key'));
  clock.nowMs += 10.1;
  expect([codeFor('192.0.2.1'), codeFor('192.0.2.1')]).toEqual(['invalid_api_key', 'rate_limit_exceeded']);
});

describe('authentication', () => {
  const apiKey = {
    ...key,
    accountId: 'account',
    revokedAt: null,
    expiresAt: null,
    isAccountSuspended: false,
  };
  const token = generateKey();
  const cache = {
    known: () => apiKey,
    find: async () => null,
    hasImportedKeys: () => false,
  } as unknown as KeyCache;
  const host = { timeout: () => undefined, requestIP: () => ({ address: '192.0.2.1' }) };

  function arrive(authenticate: Authenticate, authorization: string) {
    const request = new Request('http://gateway/', {
      method: 'POST',
      body: '{}',
      headers: { authorization },
    });
    const context = new RequestContext(request, host, []);
    const code = codeOf(() => void authenticate(request, context, 'api_keys_lookup_failed'));
    return { code, context, isBodyRead: request.bodyUsed };
  }

  test('counts later refusals, and rejects a key before its body is read', () => {
    const authenticate = authenticateWith(cache, counting().refusals);
    const { code, context } = arrive(authenticate, `Bearer ${token}`);
    expect(code).toBeNull();
    for (let count = 0; count < 6_000; count++) context.onRefusal?.('invalid_json');
    const next = arrive(authenticate, `Bearer ${token}`);
    expect([next.code, next.isBodyRead]).toEqual(['rate_limit_exceeded', false]);
    expect([next.context.caller?.id, next.context.onRefusal]).toEqual(['key', null]);
  });

  test('counts invalid keys by network, and serves valid ones from there', () => {
    const authenticate = authenticateWith(cache, counting().refusals);
    for (let count = 0; count < 6_000; count++)
      expect(arrive(authenticate, 'Bearer nonsense').code).toBe('invalid_api_key');
    expect(arrive(authenticate, 'Bearer nonsense').code).toBe('rate_limit_exceeded');
    expect(arrive(authenticate, `Bearer ${token}`).code).toBeNull();
  });
});

test('the addresses of one /64 are one network', () => {
  const { refusals } = counting();
  const codeFor = (address: string) => refusals.ofNetwork(address, noKey()).code;
  for (let count = 0; count < 6_000; count++) codeFor(`2001:db8:0:1::${count.toString(16)}`);
  expect(codeFor('2001:db8:0:1:ffff::')).toBe('rate_limit_exceeded');
  expect(codeFor('2001:db8:0:2::')).toBe('invalid_api_key');
});

test('a map of recent names forgets the one that was set longest ago, and never has more than it may', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.array(fc.nat(8)), (maxSize, names) => {
      const map = new RecentMap<number>(maxSize);
      for (const [index, name] of names.entries()) map.set(`${name}`, index);
      const latest = [...new Set(names.toReversed())].slice(0, maxSize);
      expect(map.size).toBe(latest.length);
      for (let name = 0; name <= 8; name++)
        expect(map.get(`${name}`)).toBe(latest.includes(name) ? names.lastIndexOf(name) : undefined);
    }),
  );
});
