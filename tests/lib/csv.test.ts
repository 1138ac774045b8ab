/** Cells of JSON: the same value, and no formula for a reader with any separator. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { asText, jsonCell } from '../../src/lib/csv.ts';

const text = fc.string({
  unit: fc.constantFrom(...'a=+-@＝＠,;|"\\ \t\r\n\u00a0\u2028[]{}:'),
  maxLength: 8,
});
const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 3 },
    text,
    fc.boolean(),
    fc.array(tie('tree'), { maxLength: 4 }),
    fc.dictionary(text, tie('tree'), { maxKeys: 4 }),
  ),
}));
const object = tree.filter((value): value is object => typeof value === 'object');

const textIn = (cell: string) => cell.slice(1, -1).replaceAll('""', '"');

test('JSON in a cell stays JSON of the same value, and has no formula', () => {
  fc.assert(
    fc.property(object, (value) => {
      const json = textIn(jsonCell(value));
      expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(value)));
      expect(asText(json)).toBe(json);
    }),
    { numRuns: 1_000 },
  );
});

test('only what would be a formula is escaped', () => {
  expect(textIn(jsonCell(['a', '@cf/x']))).toBe('["a","\\u0040cf/x"]');
  expect(textIn(jsonCell({ amount: '-5', ids: [1, -2] }))).toBe('{"amount":"-5","ids":[1,-2]}');
  expect(jsonCell(null)).toBe('');
});
