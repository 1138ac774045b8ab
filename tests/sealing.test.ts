/** Kept answers at rest: whole with the right key and place, unreadable otherwise. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { seal, unseal } from '../src/idempotency/sealing.ts';
import { deriveKeys } from '../src/lib/derived-keys.ts';

const key = deriveKeys('a secret')('idempotency');
const answer = fc.record({
  requestId: fc.string(),
  status: fc.integer({ min: 200, max: 599 }),
  headers: fc.dictionary(fc.stringMatching(/^[a-z-]{1,20}$/), fc.string()),
  body: fc.string({ unit: 'binary' }).map((text) => text.toWellFormed()),
});

test('any answer comes out as it went in, and never the same way twice', () => {
  fc.assert(
    fc.property(answer, fc.string(), (one, place) => {
      const sealed = seal(one, key, place);
      expect(unseal(sealed, key, place)).toEqual(one);
      expect(seal(one, key, place).equals(sealed)).toBe(false);
    }),
  );
});

test('another key, another place or any changed bit opens nothing', () => {
  fc.assert(
    fc.property(answer, fc.nat(), fc.integer({ min: 0, max: 7 }), (one, at, bit) => {
      const sealed = seal(one, key, 'here');
      expect(() => unseal(sealed, deriveKeys('a secret')('cursor'), 'here')).toThrow();
      expect(() => unseal(sealed, deriveKeys('another')('idempotency'), 'here')).toThrow();
      expect(() => unseal(sealed, key, 'there')).toThrow();
      const changed = Buffer.from(sealed);
      const place = at % changed.length;
      changed[place] = (changed[place] ?? 0) ^ (1 << bit);
      expect(() => unseal(changed, key, 'here')).toThrow();
    }),
  );
});

test('nothing of an answer is to be seen', () => {
  const one = { requestId: 'req_1', status: 200, headers: {}, body: 'canary'.repeat(10) };
  expect(seal(one, key, 'here').toString('latin1')).not.toContain('canary');
});
