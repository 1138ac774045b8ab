import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseJsonBody } from '../../src/json/body.ts';
import { findDuplicateKey } from '../../src/json/keys.ts';
import { measureJson } from '../../src/json/scan.ts';
import { inspectTree } from '../../src/json/tree.ts';

const countKeys = (text: string) => measureJson(text, {}).totalKeys;

describe('duplicate keys are counted exactly', () => {
  /** A JSON value as written: pairs keep their order, and a string keeps how it is spelled. */
  type Written =
    | Readonly<{ kind: 'text'; text: string }>
    | Readonly<{ kind: 'list'; items: readonly Written[] }>
    | Readonly<{ kind: 'object'; pairs: readonly (readonly [string, Written])[] }>;

  const spelled = fc
    .array(fc.tuple(fc.constantFrom(...'ab":\\{},[] \n/é😀', '\u2028'), fc.boolean()), { maxLength: 5 })
    .map((characters) => {
      const inner = characters.map(([character, isEscaped]) =>
        isEscaped
          ? character
              .split('')
              .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
              .join('')
          : JSON.stringify(character).slice(1, -1),
      );
      return `"${inner.join('')}"`;
    });
  const space = fc.constantFrom('', '', ' ', '\n\t', '\r\n ');
  const spaced = fc.tuple(space, spelled, space).map((parts) => parts.join(''));
  const { object } = fc.letrec<{ value: Written; object: Written }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom('1', 'true', 'null', '-1.5e3').map((text) => ({ kind: 'text' as const, text })),
      spaced.map((text) => ({ kind: 'text' as const, text })),
      fc.array(tie('value'), { maxLength: 4 }).map((items) => ({ kind: 'list' as const, items })),
      tie('object'),
    ),
    object: fc
      .array(fc.tuple(spaced, tie('value')), { maxLength: 5 })
      .map((pairs) => ({ kind: 'object' as const, pairs })),
  }));

  function write(value: Written): string {
    if (value.kind === 'text') return value.text;
    if (value.kind === 'list') return `[${value.items.map(write).join(',')}]`;
    return `{${value.pairs.map(([key, inner]) => `${key}:${write(inner)}`).join(',')}}`;
  }

  function pairCount(value: Written): number {
    if (value.kind === 'text') return 0;
    if (value.kind === 'list') return value.items.reduce((sum, item) => sum + pairCount(item), 0);
    return value.pairs.reduce((sum, [, inner]) => sum + 1 + pairCount(inner), 0);
  }

  function firstDuplicate(value: Written, path: readonly (string | number)[]): typeof path | null {
    if (value.kind === 'text') return null;
    const seen = new Set<string>();
    const steps: readonly (readonly [string | number, Written])[] =
      value.kind === 'list'
        ? value.items.map((item, index) => [index, item] as const)
        : value.pairs.map(([key, inner]) => [String(JSON.parse(key)), inner] as const);
    for (const [step, inner] of steps) {
      if (typeof step === 'string' && seen.has(step)) return [...path, step];
      if (typeof step === 'string') seen.add(step);
      const found = firstDuplicate(inner, [...path, step]);
      if (found !== null) return found;
    }
    return null;
  }

  test('for any text: the keys, whether there is a duplicate, and where', () => {
    let withDuplicates = 0;
    let without = 0;
    fc.assert(
      fc.property(object, (value) => {
        const text = write(value);
        const duplicate = firstDuplicate(value, []);
        expect(countKeys(text)).toBe(pairCount(value));
        expect(inspectTree(JSON.parse(text), true).keys === countKeys(text)).toBe(duplicate === null);
        expect(findDuplicateKey(text)).toEqual(duplicate);
        if (duplicate === null) {
          without++;
          expect(parseJsonBody(Buffer.from(text))).toEqual(JSON.parse(text));
        } else {
          withDuplicates++;
          expect(() => parseJsonBody(Buffer.from(text))).toThrow('more than once');
        }
      }),
      { numRuns: 5_000 },
    );
    expect(Math.min(withDuplicates, without)).toBeGreaterThan(500);
  });

  test('what JSON.stringify writes never has one', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify({ value });
        expect(inspectTree(JSON.parse(text), false).keys).toBe(countKeys(text));
      }),
      { numRuns: 2_000 },
    );
  });

  test('bad characters come only from \\u, so a text without it needs no check of its strings', () => {
    const character = fc.constantFrom('\0', '\ud800', '\udc00', 'a', '"', '\\', '😀', 'é');
    fc.assert(
      fc.property(
        fc.array(character).map((list) => list.join('')),
        fc.boolean(),
        (value, isKey) => {
          const text = JSON.stringify(isKey ? { [value]: 1 } : { a: value });
          const isBad = value.includes('\0') || !value.isWellFormed();
          expect(inspectTree(JSON.parse(text), true).fault !== null).toBe(isBad);
          if (isBad) expect(text).toContain('\\u');
        },
      ),
    );
  });
});

test('a duplicate is found inside of lists', () => {
  expect(findDuplicateKey('[[],[],{"a":1,"a":2}]')).toEqual([2, 'a']);
  expect(findDuplicateKey('[[{"a":1,"a":2}]]')).toEqual([0, 0, 'a']);
});

test('a duplicate far from the start is refused without its place', () => {
  const bodyOf = (count: number) => `{"a":[${'0,'.repeat(count)}{"b":1,"b":2}]}`;
  expect(findDuplicateKey(bodyOf(4_000))).toEqual(['a', 4_000, 'b']);
  expect(findDuplicateKey(bodyOf(5_000))).toBeNull();
  expect(() => parseJsonBody(Buffer.from(bodyOf(5_000)))).toThrow(
    'A key appears more than once in its object.',
  );
});
