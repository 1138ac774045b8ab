import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { formatPath, valueAt } from '../../src/json/path.ts';

describe('formatPath', () => {
  test.each([
    [['messages', 2, 'content', 0, 'image_url', 'url'], 'messages[2].content[0].image_url.url'],
    [['a', 'odd key', 'b'], 'a["odd key"].b'],
    [['1'], '["1"]'],
    [['é'], '["é"]'],
    [['a"]'], '["a\\"]"]'],
    [['__proto__', '$x'], '__proto__.$x'],
    [[], ''],
  ] as const)('%p is %s', (path, text) => {
    expect(formatPath(path)).toBe(text);
  });

  test('never shows more than 100 characters of what the client chose', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string({ unit: 'binary', size: 'large' }), fc.nat())), (path) => {
        const text = formatPath(path);
        expect(text.length).toBeLessThanOrEqual(101);
        expect(text.isWellFormed()).toBe(true);
      }),
    );
    expect(formatPath(['x'.repeat(1_000_000)])).toBe(`${'x'.repeat(100)}…`);
  });
});

test('a path of exactly 100 characters is shown in full', () => {
  expect(formatPath(['x'.repeat(100)])).toBe('x'.repeat(100));
  expect(formatPath(['x'.repeat(101)])).toBe(`${'x'.repeat(100)}…`);
  // Only what is shown decides whether a name has to be quoted.
  expect(formatPath([`${'x'.repeat(101)} `])).toBe(`${'x'.repeat(100)}…`);
  // The character that the cut goes through is not shown by half.
  expect(formatPath([`${'x'.repeat(97)}😀😀`])).toBe(`["${'x'.repeat(97)}\ufffd…`);
});

test('a value is found at its path, and only among own properties', () => {
  const root = { a: [{ b: null }, 'text'], length: 3 };
  expect(valueAt(root, [])).toBe(root);
  expect(valueAt(root, ['a', 0, 'b'])).toBeNull();
  expect(valueAt(root, ['a', 1])).toBe('text');
  expect(valueAt(root, ['a', 0, 'b', 'c'])).toBeUndefined();
  expect(valueAt(root, ['a', 1, 'length'])).toBeUndefined();
  expect(valueAt(root, ['a', 2])).toBeUndefined();
  expect(valueAt(root, ['toString'])).toBeUndefined();
  expect(valueAt(root, ['x', 'y'])).toBeUndefined();
  expect(valueAt(7, ['x'])).toBeUndefined();
});
