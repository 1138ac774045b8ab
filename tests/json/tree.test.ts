import { expect, test } from 'bun:test';
import { inspectTree, textFault } from '../../src/json/tree.ts';

const pathOf = (root: unknown, checksText = true) => inspectTree(root, checksText).fault?.path ?? null;

test('a sound tree has no fault, and its keys are counted at every depth', () => {
  const sound = { a: [1, 'x', null, true, { b: {}, c: [] }], d: { e: '' } };
  expect(inspectTree(sound, true)).toEqual({ keys: 5, fault: null });
  expect(inspectTree([], true)).toEqual({ keys: 0, fault: null });
});

test('the first fault is named by its path, from the outside in', () => {
  expect(pathOf({ a: 1, b: [0, { c: Number.POSITIVE_INFINITY }], d: '\0' })).toEqual(['b', 1, 'c']);
  expect(pathOf({ a: 'x', b: ['\ud800'] })).toEqual(['b', 0]);
  expect(pathOf({ a: { '\0': '\0' } })).toEqual(['a', '\0']);
  expect(pathOf(Number.NEGATIVE_INFINITY)).toEqual([]);
});

test('text is checked where that is asked for, and numbers always', () => {
  expect(pathOf({ '\0': '\ud800' }, false)).toBeNull();
  expect(pathOf({ a: Number.POSITIVE_INFINITY }, false)).toEqual(['a']);
});

test('a string may hold neither U+0000 nor half of a pair', () => {
  expect(textFault('a\u0001é😀')).toBeNull();
  expect(textFault('a\0')).toContain('U+0000');
  expect(textFault('\udc00')).toContain('surrogate');
});
