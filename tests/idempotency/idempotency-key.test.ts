import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { ApiError } from '../../src/errors.ts';
import { otherBody, readIdempotencyKey } from '../../src/idempotency/idempotency-key.ts';

const read = (value: string) => readIdempotencyKey(new Headers({ 'Idempotency-Key': value }));
const refusal = { code: 'invalid_parameter', param: 'Idempotency-Key' };

function errorOf(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error;
  }
}

test('a request without the header has no key', () => {
  expect(readIdempotencyKey(new Headers())).toBeNull();
});

test('1 to 255 printable characters of ASCII are a key', () => {
  const character = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code));
  fc.assert(
    fc.property(fc.string({ unit: character, minLength: 1, maxLength: 255 }), (key) => {
      expect(read(key)).toBe(key);
    }),
  );
  expect(read('a ~')).toBe('a ~');
  expect(read('x'.repeat(255))).toBe('x'.repeat(255));
});

test.each([
  ['an empty one', ''],
  ['a longer one', 'x'.repeat(256)],
  ['a tab', 'a\tb'],
  ['a character beyond ASCII at the end', 'abcé'],
  ['a character beyond ASCII at the beginning', 'éabc'],
  ['DEL', 'a\x7f'],
])('%s is refused', (_name, key) => {
  const error = errorOf(() => read(key));
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject(refusal);
  expect(String(error)).toContain('Idempotency-Key must have 1 to 255');
});

test('a key that was used for another request is named', () => {
  expect(otherBody()).toMatchObject(refusal);
  expect(String(otherBody())).toContain('This Idempotency-Key was used');
});
