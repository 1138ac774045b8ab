import { expect, test } from 'bun:test';
import { z } from 'zod';
import { listOf } from '../../src/json/list.ts';

const trimmed = z.pipe(
  z.string(),
  z.transform((text: string) => text.trim()),
);

test('the items of a list are what their schema makes of them', () => {
  expect(z.parse(listOf(trimmed, 'texts'), [' a', 'b '])).toEqual(['a', 'b']);
});

test('a list may be empty unless it must not be', () => {
  expect(z.safeParse(listOf(trimmed, 'texts'), []).success).toBe(true);
  expect(z.safeParse(listOf(trimmed, 'texts', { min: 1 }), []).error?.issues).toMatchObject([
    { message: 'texts', path: [] },
  ]);
});

test('a list may be as long as its limit, and no longer', () => {
  const short = listOf(trimmed, 'texts', { max: 2 });
  expect(z.safeParse(short, ['a', 'b']).success).toBe(true);
  expect(z.safeParse(short, ['a', 'b', 'c']).error?.issues).toMatchObject([
    { code: 'too_big', maximum: 2, message: 'texts', path: [] },
  ]);
});

test('only the first invalid item is reported', () => {
  expect(z.safeParse(listOf(trimmed, 'texts'), ['a', 1, 2]).error?.issues).toMatchObject([{ path: [1] }]);
});

test('what is not a list is answered with what should have been sent', () => {
  expect(z.safeParse(listOf(trimmed, 'texts'), 'a').error?.issues).toMatchObject([
    { code: 'invalid_type', expected: 'array', message: 'texts' },
  ]);
});
