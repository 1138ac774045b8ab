import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { type CursorScope, decodeCursor, encodeCursor } from '../../src/generations/cursor.ts';

const dayMs = 24 * 60 * 60 * 1000;
const signingKey = Buffer.alloc(32, 7);

const filter = fc.option(
  fc.oneof(
    fc.constantFrom('in_progress', 'completed', 'failed', 'cancelled'),
    fc.string({ minLength: 1, unit: 'binary' }),
  ),
);
const scope: fc.Arbitrary<CursorScope> = fc.tuple(fc.uuid(), filter, filter);
const made = fc.record({
  position: fc.uuid(),
  scope,
  nowMs: fc.integer({ min: 0, max: 4_102_444_800_000 }),
});

test('a cursor leads back to its position for a day, and then no more', () => {
  fc.assert(
    fc.property(made, fc.integer({ min: -dayMs, max: 3 * dayMs }), ({ position, scope, nowMs }, laterMs) => {
      const text = encodeCursor(position, scope, signingKey, nowMs);
      expect(text).toMatch(/^[A-Za-z0-9_-]+$/);
      const found = decodeCursor(text, scope, signingKey, nowMs + laterMs);
      expect(found).toBe(laterMs < dayMs ? position : null);
    }),
  );
});

test.each([
  [dayMs - 1, true],
  [dayMs, false],
])('it lives for exactly 24 hours: after %d ms', (laterMs, isGood) => {
  const position = '019f0000-0000-7000-8000-000000000001';
  const own = [position, null, null] as const;
  const text = encodeCursor(position, own, signingKey, 1000);
  expect(decodeCursor(text, own, signingKey, 1000 + laterMs)).toBe(isGood ? position : null);
});

test('any flipped bit of it is refused', () => {
  fc.assert(
    fc.property(made, ({ position, scope, nowMs }) => {
      const bytes = Buffer.from(encodeCursor(position, scope, signingKey, nowMs), 'base64url');
      for (let bit = 0; bit < bytes.length * 8; bit++) {
        const changed = Buffer.from(bytes);
        changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        expect(decodeCursor(changed.toString('base64url'), scope, signingKey, nowMs)).toBeNull();
      }
    }),
    { numRuns: 10 },
  );
});

test('any changed, added or missing character is refused, so only one text is the cursor', () => {
  const characters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/=. \n\0é'];
  fc.assert(
    fc.property(made, fc.nat(), fc.constantFrom(...characters), ({ position, scope, nowMs }, at, other) => {
      const text = encodeCursor(position, scope, signingKey, nowMs);
      const place = at % text.length;
      const variants = [
        text.slice(0, place) + other + text.slice(place + 1),
        text.slice(0, place) + other + text.slice(place),
        text.slice(0, place) + text.slice(place + 1),
        `${text}=`,
        text + text,
      ];
      for (const variant of variants) {
        const found = decodeCursor(variant, scope, signingKey, nowMs);
        expect(found).toBe(variant === text ? position : null);
      }
    }),
  );
});

test('it is refused for another list and with other filters', () => {
  fc.assert(
    fc.property(made, scope, ({ position, scope, nowMs }, other) => {
      const text = encodeCursor(position, scope, signingKey, nowMs);
      const [owner, ...filters] = scope;
      const mixtures: CursorScope[] = [
        [other[0], ...filters],
        [owner, ...other.slice(1)],
        // No filter can be taken for another, and adding or removing one makes a difference.
        [owner, ...filters.toReversed()],
        [owner, ...filters.slice(1)],
        [owner, ...filters, null],
        other,
      ];
      for (const mixture of mixtures) {
        const isSame = Bun.deepEquals(mixture, scope);
        expect(decodeCursor(text, mixture, signingKey, nowMs)).toBe(isSame ? position : null);
      }
    }),
  );
});

test('one that another secret signed is refused', () => {
  fc.assert(
    fc.property(
      made,
      fc.uint8Array({ minLength: 32, maxLength: 32 }),
      ({ position, scope, nowMs }, secret) => {
        fc.pre(!signingKey.equals(secret));
        const text = encodeCursor(position, scope, secret, nowMs);
        expect(decodeCursor(text, scope, signingKey, nowMs)).toBeNull();
      },
    ),
  );
});

test('any other text is refused and never throws', () => {
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.base64String(),
    fc.uint8Array({ minLength: 57, maxLength: 57 }).map((bytes) => Buffer.from(bytes).toString('base64url')),
  );
  fc.assert(
    fc.property(texts, scope, (text, own) => {
      expect(decodeCursor(text, own, signingKey, 0)).toBeNull();
    }),
  );
});

test('a cursor that a client got from an earlier version of the gateway still works', () => {
  const text = 'AQAAAAAFJl_oAZ8AAAAAcACAAAAAAAAAAfQS8q3QBZvW-cPboLWcTGfLxxq3nPRL8LT7ttAZLADp';
  const own = ['019f0000-0000-7000-8000-000000000002', 'completed', null] as const;
  expect(decodeCursor(text, own, signingKey, 1_000)).toBe('019f0000-0000-7000-8000-000000000001');
});
