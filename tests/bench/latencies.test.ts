/** What the bench takes for the latency of a subject, with and without the upstream's own time. */
import { expect, test } from 'bun:test';
import type { LoadResult } from '../../bench/load.ts';
import { latencies } from '../../bench/measure.ts';

const result: LoadResult = {
  elapsedMs: 1_000,
  completed: 2,
  chunks: 0,
  chunksPerRead: 1,
  p50Ms: 203,
  p99Ms: 204,
  firstByteP50Ms: 201,
  firstByteP99Ms: 202,
  errors: {},
  sentAtMs: [1_000, 2_000],
  firstBytesMs: [201, 202],
  latenciesMs: [203, 204],
};
const waits = [
  { askedAtMs: 1_001, answeredAtMs: 1_201 },
  { askedAtMs: 2_001, answeredAtMs: 2_201 },
];

test('the own time of an upstream that answers late is taken off each latency', () => {
  expect(latencies(result, waits, false)).toEqual({ p50Ms: 4, p99Ms: 4, calledP50Ms: 1 });
  expect(latencies(result, waits, true)).toEqual({ p50Ms: 2, p99Ms: 2, calledP50Ms: 1 });
});

test('without times that belong to each other, nobody knows what was added', () => {
  const unknown = { p50Ms: Number.NaN, p99Ms: Number.NaN, calledP50Ms: Number.NaN };
  expect(latencies(result, waits.slice(1), false)).toEqual(unknown);
  expect(latencies(result, [], true)).toEqual(unknown);
});

test('an upstream that answers at once has no time of its own', () => {
  const plain = { ...result, sentAtMs: [], firstBytesMs: [], latenciesMs: [] };
  expect(latencies(plain, [], false)).toEqual({ p50Ms: 203, p99Ms: 204, calledP50Ms: Number.NaN });
  expect(latencies(plain, [], true)).toEqual({ p50Ms: 201, p99Ms: 202, calledP50Ms: Number.NaN });
});
