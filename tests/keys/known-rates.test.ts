/** What a node remembers of the rates of keys when there are more keys than it has room for. */
import { expect, test } from 'bun:test';
import type { ApiKey } from '../../src/keys/key-store.ts';
import { KnownRates } from '../../src/keys/known-rates.ts';

test('beyond the maximum, the key that was counted longest ago is forgotten', () => {
  const rates = new KnownRates();
  const used = { limit: 60, remaining: 0, resetMs: 60_000 };
  const isKnown = (id: string) => rates.of({ id, requestsPerMinute: 60 } as ApiKey).resetMs > 0;
  for (let count = 0; count < 10_000; count += 1) rates.note(`key ${count}`, used);
  rates.note('key 0', used);
  rates.note('one more', used);
  expect(['key 0', 'key 1', 'key 2', 'one more'].map(isKnown)).toEqual([true, false, true, true]);
});
