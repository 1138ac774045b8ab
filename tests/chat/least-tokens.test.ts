/** The fewest tokens of a text: never more than any public tokenizer counts. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { naturalTexts } from '../../scripts/natural-texts.ts';
import { LeastTokens } from '../../src/chat/least-tokens.ts';
import recorded from '../support/token-counts.json';

function leastOf(...pieces: readonly string[]): number {
  const least = new LeastTokens();
  for (const piece of pieces) least.add(piece);
  return least.tokens;
}

describe('natural text', () => {
  const counts = new Map(Object.entries(recorded));

  test('is all recorded', () => {
    expect([...counts.keys()].toSorted()).toEqual(Object.keys(naturalTexts).toSorted());
  });

  test.each(Object.entries(naturalTexts))('%s has no fewer tokens with any tokenizer', (kind, text) => {
    // A text that was changed has to be counted again: scripts/record-token-counts.ts.
    expect(new Bun.CryptoHasher('sha256').update(text).digest('hex')).toBe(counts.get(kind)?.sha256 ?? '');
    expect(leastOf(text)).toBeLessThanOrEqual(counts.get(kind)?.fewest ?? 0);
    expect(leastOf(text)).toBeGreaterThan(0);
  });
});

test.each([
  ['', 0],
  ['one', 1],
  ['one two, three', 3],
  ['Zürich — Москва', 2],
  ['12 eggs at 3.50', 5],
  ["don’t, can't, snake_case, __init__", 4],
  ["','", 0],
  ['{"a":1}', 2],
  ['می‌شود', 1],
  ['नमस्ते', 1],
  ['\\n\\n\\tdone\\u00e9x', 2],
  ['\\\\n', 1],
  ['\\\\\\n', 0],
  ['ends with \\', 2],
  ['\\u00e9', 0],
  ['\\u4f60\\u597d', 0],
  ['\\u00e9x', 1],
  ['\\vabcd', 1],
  ['\\nu000 x', 2],
  [' \n\t'.repeat(50), 0],
  ['-'.repeat(500), 0],
  ['!?😀…', 0],
  ['a'.repeat(5_000), 1],
  ['ab'.repeat(31), 1],
  [`${'ab'.repeat(31)}a`, 1],
  ['ab'.repeat(32), 2],
  ['ab'.repeat(47), 2],
  ['ab'.repeat(48), 3],
  ['中国人', 0],
  ['中国人民', 1],
  ['中国，人民', 1],
  ['哈'.repeat(100), 0],
  ['ひらがな', 1],
  ['한국어 공부', 2],
  ['กรุงเทพ', 0],
  ['กรุงเทพม', 1],
  ['漢字กรุง', 1],
  ['スーパ', 0],
  ['スーパー', 1],
  ['ສະບາຍດີຕອນເຊົ້າ', 1],
  ['བཀྲ་ཤིས་བདེ་ལེགས', 1],
  ['မင်္ဂလာပါခင်ဗျာ', 1],
  ['អរុណសួស្តីលោក', 1],
  ['❤️❤️ a\u200db', 1],
  ['word漢', 1],
] as const)('%j has at least %d', (text, tokens) => {
  expect(leastOf(text)).toBe(tokens);
});

test('however the text is cut', () => {
  const part = fc.constantFrom(
    'a',
    'b',
    'é',
    '1',
    ' ',
    '.',
    '\\',
    'u',
    '_',
    '’',
    '中',
    '国',
    'ก',
    'ร',
    'abcdefghij',
  );
  fc.assert(
    fc.property(fc.array(part), fc.array(part), (before, after) => {
      expect(leastOf(before.join(''), after.join(''))).toBe(leastOf([...before, ...after].join('')));
    }),
  );
});

test('a letter that is repeated piece by piece counts once as well', () => {
  expect(leastOf(...Array.from({ length: 100 }, () => 'a'))).toBe(1);
});

test('only as far as it is to be looked at', () => {
  const least = new LeastTokens();
  least.add('one two three', 7);
  expect(least.tokens).toBe(2);
});

test('of English no tokenizer counts fewer than its words', () => {
  const word = fc.stringMatching(/^[a-z]{1,31}$/);
  fc.assert(
    fc.property(fc.array(word), (words) => {
      expect(leastOf(words.join(' '))).toBe(words.length);
    }),
  );
});
