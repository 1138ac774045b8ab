/** How finely refusals are counted: whatever is sent, under few names, and never under somebody else's. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { nilId } from '../../src/lib/ids.ts';
import {
  CountDetail,
  maxModelsOfKey,
  maxOfAccount,
  maxOfAll,
  maxWithModelOfAccount,
  reservedOfAccount,
} from '../../src/requests/count-detail.ts';

const hourMs = 3_600_000;

const anyRefusal = fc.record({
  hour: fc.integer({ min: 100, max: 104 }),
  account: fc.integer({ min: 0, max: 2 }),
  key: fc.integer({ min: 0, max: 400 }),
  model: fc.oneof(
    fc.constant(''),
    fc.integer({ min: 0, max: 60 }).map((number) => `model ${number}`),
  ),
  code: fc.constantFrom('a', 'b', 'c'),
});

test('whatever is refused, an hour has a bounded number of counts', () => {
  fc.assert(
    fc.property(fc.array(anyRefusal, { maxLength: 3_000, size: 'max' }), (refusals) => {
      const detail = new CountDetail();
      const ofAccounts = new Map<string, Set<string>>();
      const ofKeys = new Map<string, Set<string>>();
      for (const { hour, account, key, model, code } of refusals) {
        const keyId = `${account}/${key}`;
        const found = detail.of(hour * hourMs + 1, `${account}`, keyId, model, code);
        expect([keyId, nilId]).toContain(found.keyId);
        expect([model, '']).toContain(found.model);
        if (found.keyId === nilId) {
          expect(found.model).toBe('');
          continue;
        }
        add(ofAccounts, `${hour} ${account}`, `${keyId} ${found.model} ${code}`);
        if (found.model !== '') add(ofKeys, `${hour} ${keyId}`, `${found.model} ${code}`);
      }
      for (const names of ofAccounts.values()) {
        expect(names.size).toBeLessThanOrEqual(maxOfAccount);
        const withModel = [...names].filter((name) => name.includes('model'));
        expect(withModel.length).toBeLessThanOrEqual(maxWithModelOfAccount);
      }
      for (const names of ofKeys.values()) expect(names.size).toBeLessThanOrEqual(maxModelsOfKey);
    }),
    { numRuns: 30 },
  );
});

test('what is counted by itself stays so for the hour', () => {
  const detail = new CountDetail();
  const first = { keyId: 'key 0', model: 'model' };
  expect(detail.of(0, 'account', 'key 0', 'model', 'code')).toEqual(first);
  for (let key = 1; key < 500; key += 1) detail.of(0, 'account', `key ${key}`, 'model', 'code');
  expect(detail.of(1, 'account', 'key 0', 'model', 'code')).toEqual(first);
  expect(detail.of(1, 'account', 'key 499', 'model', 'code')).toEqual({ keyId: 'key 499', model: '' });
  for (let key = 500; key < 1_500; key += 1) detail.of(0, 'account', `key ${key}`, 'model', 'code');
  expect(detail.of(1, 'account', 'key 1499', 'model', 'code')).toEqual({ keyId: nilId, model: '' });
  expect(detail.of(1, 'neighbour', 'theirs', 'model', 'code')).toEqual({ keyId: 'theirs', model: 'model' });
  expect(detail.of(hourMs, 'account', 'key 1499', 'model', 'code')).toEqual({
    keyId: 'key 1499',
    model: 'model',
  });
});

test('many accounts together are bounded, too, and none loses what is reserved for it', () => {
  const detail = new CountDetail();
  for (let number = 0; number < maxOfAll; number += 1) {
    const account = `account ${Math.floor(number / maxOfAccount)}`;
    expect(detail.of(0, account, `key ${number}`, '', 'a').keyId).toBe(`key ${number}`);
  }
  const found = Array.from({ length: 30 }, (_, key) => detail.of(0, 'late', `late ${key}`, 'model', 'a'));
  const kept = Array.from({ length: reservedOfAccount }, (_, key) => ({ keyId: `late ${key}`, model: '' }));
  expect(found.slice(0, reservedOfAccount)).toEqual(kept);
  expect(new Set(found.slice(reservedOfAccount).map(({ keyId }) => keyId))).toEqual(new Set([nilId]));
});

function add(sets: Map<string, Set<string>>, name: string, value: string): void {
  const found = sets.get(name) ?? new Set();
  sets.set(name, found.add(value));
}
