import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { ApiError } from '../../src/errors.ts';
import { checkKey } from '../../src/keys/authenticate.ts';
import { generateKey, hashKey, isWellFormedKey, keyHint } from '../../src/keys/key-format.ts';
import type { ApiKey } from '../../src/keys/key-store.ts';
import { newId, requestIdFromUuid, uuidFromRequestId } from '../../src/lib/ids.ts';

test('every generated key is well formed, and no two are alike', () => {
  const keys = Array.from({ length: 1_000 }, () => generateKey());
  expect(keys.every(isWellFormedKey)).toBe(true);
  expect(new Set(keys).size).toBe(1_000);
});

test('changing one character of a key makes it malformed', () => {
  const key = generateKey();
  fc.assert(
    fc.property(fc.nat(key.length - 1), fc.constantFrom(...'abcXYZ019_-é '), (place, character) => {
      fc.pre(key[place] !== character);
      return !isWellFormedKey(key.slice(0, place) + character + key.slice(place + 1));
    }),
  );
});

test('no text at all upsets the check', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => !isWellFormedKey(text)));
});

test('random bytes that would favour some characters are skipped', () => {
  const batches = [new Uint8Array(40).fill(248), new Uint8Array(40).fill(255), new Uint8Array(40).fill(247)];
  const key = generateKey(() => batches.shift() ?? new Uint8Array(40));
  expect(key.slice(7, 47)).toBe('z'.repeat(40));
});

test('what is stored or shown does not give the key away', () => {
  const key = generateKey();
  expect(hashKey(key)).toHaveLength(32);
  expect(keyHint(key)).toBe(`svc_sk_…${key.slice(-4)}`);
});

const now = new Date('2026-11-15T12:00:00Z');
const before = new Date('2026-11-15T11:59:59Z');
const after = new Date('2026-11-15T12:00:01Z');
const good: ApiKey = {
  id: 'k',
  accountId: 'a',
  allowedModels: null,
  expiresAt: null,
  revokedAt: null,
  isAccountSuspended: false,
  priceGroup: null,
  requestsPerMinute: 600,
  limitVersion: 0,
};

test.each([
  ['a good key', good, null],
  ['an unknown key', null, 'invalid_api_key'],
  ['a revoked key', { ...good, revokedAt: before }, 'invalid_api_key'],
  ['a key that is to be revoked later', { ...good, revokedAt: after }, null],
  ['an expired key', { ...good, expiresAt: before }, 'expired_api_key'],
  ['a key that expires at this very moment', { ...good, expiresAt: now }, 'expired_api_key'],
  ['a key that expires later', { ...good, expiresAt: after }, null],
  ['a key both revoked and expired', { ...good, revokedAt: before, expiresAt: before }, 'invalid_api_key'],
  ['a key of a suspended account', { ...good, isAccountSuspended: true }, 'invalid_api_key'],
  [
    'an expired key of a suspended account',
    { ...good, expiresAt: before, isAccountSuspended: true },
    'invalid_api_key',
  ],
] as [string, ApiKey | null, string | null][])('%s', (_name, key, code) => {
  let refusal: string | null = null;
  try {
    checkKey(key, now);
  } catch (error) {
    refusal = error instanceof ApiError ? error.code : 'something else';
  }
  expect(refusal).toBe(code);
});

test('only a key that would otherwise be in force is told that its account is suspended', () => {
  const suspended = { ...good, isAccountSuspended: true };
  const told = 'This account is suspended. Ask the operator of this gateway why.';
  expect(() => checkKey(suspended, now)).toThrow(told);
  expect(() => checkKey({ ...suspended, revokedAt: before }, now)).not.toThrow(told);
  expect(() => checkKey({ ...suspended, revokedAt: before }, now)).toThrow('inactive or unknown');
});

test('request IDs sort by time and carry their UUID', () => {
  const ids = Array.from({ length: 1_000 }, () => requestIdFromUuid(newId()));
  expect([...ids].sort()).toEqual(ids);
  for (const id of ids) expect(requestIdFromUuid(uuidFromRequestId(id) ?? '')).toBe(id);
  for (const wrong of ['', 'req_', 'req_xyz', ids[0]?.toUpperCase() ?? '', `${ids[0]}0`])
    expect(uuidFromRequestId(wrong)).toBeNull();
});
