import { expect, test } from 'bun:test';
import { inspectTree, maxDepth, maxKeys, textFault } from '../src/http/json-tree.ts';

const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)]);
const keyed = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 0]));
const pathOf = (root: unknown, checksText = true) => inspectTree(root, checksText).fault?.path ?? null;

test('the limits', () => {
  expect([maxDepth, maxKeys]).toEqual([64, 10_000]);
});

test('a sound tree has no fault, and its keys are counted at every depth', () => {
  const sound = { a: [1, 'x', null, true, { b: {}, c: [] }], d: { e: '' } };
  expect(inspectTree(sound, true)).toEqual({ keys: 5, fault: null });
  expect(inspectTree([], true)).toEqual({ keys: 0, fault: null });
});

test('what lies too deep is named by where it stands', () => {
  expect(inspectTree({ a: nested(63) }, true).fault).toBeNull();
  const { fault } = inspectTree({ a: nested(64) }, true);
  expect(fault).toEqual({
    path: ['a', ...Array.from({ length: 63 }, () => 0)],
    message: 'The body is nested deeper than 64 levels.',
  });
  const object = (levels: number): unknown => (levels === 0 ? null : { k: object(levels - 1) });
  expect(pathOf(object(64))).toBeNull();
  expect(pathOf(object(65))).toHaveLength(64);
});

test('an object may have 10,000 keys, and each object counts for itself', () => {
  expect(inspectTree({ a: keyed(10_000), b: keyed(10_000) }, true)).toEqual({ keys: 20_002, fault: null });
  expect(inspectTree({ a: [keyed(10_001)] }, true).fault).toEqual({
    path: ['a', 0],
    message: 'This object has more than 10000 keys.',
  });
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
