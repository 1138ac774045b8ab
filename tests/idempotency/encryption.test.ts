/** Stored responses at rest: complete with the right key and place, unreadable otherwise. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  EncryptedResponse,
  encrypt,
  openingBytes,
  type PlainResponse,
} from '../../src/idempotency/encryption.ts';
import { deriveKeys } from '../../src/lib/derived-keys.ts';

const key = deriveKeys('a secret')('idempotency');
const answer = fc.record({
  requestId: fc.string(),
  status: fc.integer({ min: 200, max: 599 }),
  headers: fc.dictionary(fc.stringMatching(/^[a-z-]{1,20}$/), fc.string()),
  body: fc.string({ unit: 'binary' }).map((text) => text.toWellFormed()),
});

/** Piece by piece, as it is read from the database. */
function decrypt(encrypted: Buffer, withKey: Buffer, place: string): PlainResponse {
  const opened = new EncryptedResponse(encrypted.subarray(0, openingBytes), encrypted.length, withKey, place);
  const pieces = [opened.beginning];
  for (let index = 1; index < opened.pieceCount; index++) {
    const { start, length } = EncryptedResponse.rangeOf(index);
    pieces.push(opened.decrypt(index, encrypted.subarray(start, start + length)));
  }
  return { ...opened.head, body: Buffer.concat(pieces).toString() };
}

test('any response is decrypted unchanged, and never encrypted the same way twice', async () => {
  await fc.assert(
    fc.asyncProperty(answer, fc.string(), async (one, place) => {
      const encrypted = await encrypt(one, key, place);
      expect(decrypt(encrypted, key, place)).toEqual(one);
      expect((await encrypt(one, key, place)).equals(encrypted)).toBe(false);
    }),
  );
});

const longAnswer = (length: number): PlainResponse => ({
  requestId: 'req_1',
  status: 200,
  headers: {},
  body: '€'.repeat(length).slice(0, length),
});

test('so does one of many pieces, wherever the last one ends', async () => {
  const headBytes = Buffer.byteLength(JSON.stringify({ requestId: 'req_1', status: 200, headers: {} })) + 1;
  for (const bodyBytes of [65_536 - headBytes, 131_072 - headBytes, 131_073 - headBytes, 5_000_000]) {
    const one = { ...longAnswer(0), body: 'x'.repeat(bodyBytes) };
    const encrypted = await encrypt(one, key, 'here');
    expect(decrypt(encrypted, key, 'here').body === one.body).toBe(true);
  }
  const wide = longAnswer(100_000);
  expect(decrypt(await encrypt(wide, key, 'here'), key, 'here').body === wide.body).toBe(true);
});

test('another key, another place or any changed bit opens nothing', async () => {
  await fc.assert(
    fc.asyncProperty(answer, fc.nat(), fc.integer({ min: 0, max: 7 }), async (one, at, bit) => {
      const encrypted = await encrypt(one, key, 'here');
      expect(() => decrypt(encrypted, deriveKeys('a secret')('cursor'), 'here')).toThrow();
      expect(() => decrypt(encrypted, deriveKeys('another')('idempotency'), 'here')).toThrow();
      expect(() => decrypt(encrypted, key, 'there')).toThrow();
      const changed = Buffer.from(encrypted);
      const place = at % changed.length;
      changed[place] = (changed[place] ?? 0) ^ (1 << bit);
      expect(() => decrypt(changed, key, 'here')).toThrow();
    }),
  );
});

test('pieces cannot change places, come from another response, or be left out at the end', async () => {
  const encrypted = await encrypt(longAnswer(100_000), key, 'here');
  const other = await encrypt(longAnswer(100_000), key, 'here');
  const opened = new EncryptedResponse(encrypted.subarray(0, openingBytes), encrypted.length, key, 'here');
  const piece = (from: Buffer, index: number) => {
    const { start, length } = EncryptedResponse.rangeOf(index);
    return from.subarray(start, start + length);
  };
  expect(opened.pieceCount).toBeGreaterThan(3);
  expect(opened.decrypt(1, piece(encrypted, 1))).toHaveLength(65_536);
  expect(() => opened.decrypt(1, piece(encrypted, 2))).toThrow();
  expect(() => opened.decrypt(1, piece(other, 1))).toThrow();
  const { start } = EncryptedResponse.rangeOf(3);
  expect(() => decrypt(encrypted.subarray(0, start), key, 'here')).toThrow();
});

test('nothing of a response can be seen', async () => {
  const one = { requestId: 'req_1', status: 200, headers: {}, body: 'canary'.repeat(10) };
  expect((await encrypt(one, key, 'here')).toString('latin1')).not.toContain('canary');
});

test('a response that an earlier version stored is still read', () => {
  const stored = Buffer.from(
    'sY7rhs+EMkvskkAHyPqsDRBsf9yi4P8g9lxupryXLm5CEX2ABp8kl8/zQT6wGBpiF3nh5r8RyCnUMhHCDjQgbRGSQaBW7kPYdZ1D1vj4mCISIBKBKwFCaukXJBa4UMehMDkqaAToxaoXGLksMyP5m1txJfhn6U8Kj5bc',
    'base64',
  );
  expect(decrypt(stored, key, 'here')).toEqual({
    requestId: 'req_1',
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: '{"a":"é"}',
  });
});

test('every piece but the last is as long as what is read at once', async () => {
  expect(openingBytes).toBe(16 + 65_536 + 16);
  expect([0, 1, 2].map(EncryptedResponse.rangeOf)).toEqual([
    { start: 16, length: 65_552 },
    { start: 65_568, length: 65_552 },
    { start: 131_120, length: 65_552 },
  ]);
  const one = longAnswer(100_000);
  const text =
    Buffer.byteLength(JSON.stringify({ requestId: 'req_1', status: 200, headers: {} })) + 1 + 300_000;
  expect(await encrypt(one, key, 'here')).toHaveLength(16 + text + 5 * 16);
});

test('others get their turn while a long response is encrypted', async () => {
  let turns = 0;
  let isDone = false;
  const others = (async () => {
    while (!isDone) {
      await new Promise((resolve) => setImmediate(resolve));
      turns += 1;
    }
  })();
  // Two and a half times as many pieces as are encrypted in one turn.
  await encrypt({ ...longAnswer(0), body: 'x'.repeat(80 * 65_536) }, key, 'here');
  const turnsMeanwhile = turns;
  isDone = true;
  await others;
  expect(turnsMeanwhile).toBeGreaterThanOrEqual(2);
  expect(turnsMeanwhile).toBeLessThanOrEqual(4);
});
