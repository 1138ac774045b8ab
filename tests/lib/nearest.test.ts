import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { editDistance, nearest, suggestion } from '../../src/lib/nearest.ts';

/** By definition, without a limit: fast enough for short words only. */
function distance(from: string, to: string): number {
  if (from === '' || to === '') return Math.max(from.length, to.length);
  const [last, other] = [from.at(-1), to.at(-1)];
  const choices = [
    distance(from.slice(0, -1), to) + 1,
    distance(from, to.slice(0, -1)) + 1,
    distance(from.slice(0, -1), to.slice(0, -1)) + (last === other ? 0 : 1),
  ];
  if (from.length > 1 && to.length > 1 && last === to.at(-2) && from.at(-2) === other)
    choices.push(distance(from.slice(0, -2), to.slice(0, -2)) + 1);
  return Math.min(...choices);
}

const short = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 6 });

test('the distance is that of the definition, as long as it is within the limit', () => {
  fc.assert(
    fc.property(short, short, fc.nat(6), (from, to, limit) => {
      const exact = distance(from, to);
      expect(editDistance(from, to, limit)).toBe(exact > limit ? Number.POSITIVE_INFINITY : exact);
    }),
  );
});

test('the distance of long words is the number of places where they differ', () => {
  const edits = fc.array(fc.tuple(fc.nat(4), fc.constantFrom('insert', 'remove', 'replace', 'swap')), {
    maxLength: 4,
  });
  fc.assert(
    fc.property(edits, fc.nat(4), (made, limit) => {
      const from = 'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz';
      const letters = [...from];
      // From the end on, and apart from each other, so that no edit moves or undoes another.
      for (const [index, [shift, kind]] of made.toReversed().entries()) {
        const place = 44 - index * 10 + shift;
        if (kind === 'insert') letters.splice(place, 0, '-');
        else if (kind === 'remove') letters.splice(place, 1);
        else if (kind === 'replace') letters[place] = '-';
        else letters.splice(place, 2, letters[place + 1] ?? '', letters[place] ?? '');
      }
      const expected = made.length > limit ? Number.POSITIVE_INFINITY : made.length;
      expect(editDistance(from, letters.join(''), limit)).toBe(expected);
      expect(editDistance(letters.join(''), from, limit)).toBe(expected);
    }),
  );
});

test('only known names are suggested, no more than asked for, and never for something long', () => {
  fc.assert(
    fc.property(fc.string(), fc.array(fc.string()), fc.nat(5), (word, known, count) => {
      const found = nearest(word, known, count);
      expect(found.length).toBeLessThanOrEqual(count);
      for (const name of found) expect(known).toContain(name);
    }),
  );
  expect(nearest('x'.repeat(65), ['x'.repeat(65)])).toEqual([]);
  expect(nearest('name', ['x'.repeat(65)])).toEqual([]);
});

const models = ['gpt-4o-mini', 'gpt-5-2025-08-07', 'gpt-5-mini-2025-08-07', 'claude-opus-5', 'sandbox-chat'];

test.each([
  ['gpt-5-mini', ['gpt-5-mini-2025-08-07']],
  ['gpt-5', ['gpt-5-2025-08-07', 'gpt-5-mini-2025-08-07']],
  ['openai/gpt-4o-mini', ['gpt-4o-mini']],
  ['GPT-4O-MINI', ['gpt-4o-mini']],
  ['gpt-4o-mnii', ['gpt-4o-mini']],
  ['cluade-opus-5', ['claude-opus-5']],
  ['sandbox_chat', ['sandbox-chat']],
  ['llama-4', []],
  ['x', []],
  ['', []],
])('%p: %j', (word, expected) => {
  expect(nearest(word, models)).toEqual(expected);
});

test('a suggestion reads as a sentence', () => {
  expect(suggestion([])).toBe('');
  expect(suggestion(['a'])).toBe(' Did you mean a?');
  expect(suggestion(['a', 'b'])).toBe(' Did you mean a or b?');
  expect(suggestion(['a', 'b', 'c'])).toBe(' Did you mean a, b or c?');
});
