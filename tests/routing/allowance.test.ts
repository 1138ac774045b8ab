/** How the nodes of a deployment divide the slots of a provider. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { allowanceOf, type Demand, readCalls } from '../../src/routing/allowance.ts';

const allowances = (max: number, demands: readonly Demand[]) =>
  demands.map((_, place) => allowanceOf(max, demands, place));
const demand = (inFlight: number, turnedAway = 0): Demand => ({ inFlight, turnedAway });

test.each([
  ['alone: all of it', 8, [demand(0)], [8]],
  ['idle: equal parts', 8, [demand(0), demand(0)], [4, 4]],
  ['what does not divide goes to the first', 9, [demand(0), demand(0)], [5, 4]],
  ['busy and idle: the free ones are divided', 8, [demand(4), demand(0)], [6, 2]],
  ['one wants more than there is, the others nothing', 8, [demand(8, 5), demand(0), demand(0)], [8, 1, 1]],
  ['one has all, another wants some', 8, [demand(8), demand(0, 3)], [5, 1]],
  ['… and gets them as they become free', 8, [demand(5), demand(1, 3)], [4, 3]],
  ['all want more than there is', 8, [demand(4, 9), demand(2, 9)], [4, 4]],
  ['more nodes than slots: one each', 2, [demand(0), demand(0), demand(0)], [1, 1, 1]],
] as const)('%s', (_what, max, demands, expected) => {
  expect(allowances(max, demands)).toEqual([...expected]);
});

const demands = fc.array(fc.record({ inFlight: fc.nat({ max: 50 }), turnedAway: fc.nat({ max: 50 }) }), {
  minLength: 1,
  maxLength: 8,
});

test('together they never exceed the limit, except for one call of each node without a share', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 400 }), demands, (max, all) => {
      const each = allowances(max, all);
      expect(each.every((allowance) => Number.isInteger(allowance) && allowance >= 1)).toBe(true);
      const shared = each.filter((allowance) => allowance > 1).reduce((sum, allowance) => sum + allowance, 0);
      expect(shared).toBeLessThanOrEqual(max);
    }),
  );
});

test('nodes that all want everything have equal parts after a few heartbeats, whoever had them first', () => {
  fc.assert(
    fc.property(fc.integer({ min: 8, max: 400 }), fc.integer({ min: 2, max: 8 }), (max, count) => {
      let each = Array.from({ length: count }, (_, place) => (place === 0 ? max : 0));
      for (let beat = 0; beat < 40; beat += 1) {
        const reported = each.map((inFlight) => demand(inFlight, 1_000));
        // Calls end, and every node takes what it may.
        each = allowances(max, reported);
      }
      expect(Math.max(...each) - Math.min(...each)).toBeLessThanOrEqual(1);
      expect(each.reduce((sum, allowance) => sum + allowance, 0)).toBe(max);
    }),
  );
});

test('what a node reports is read back, and what cannot be read counts as nothing', () => {
  expect(readCalls({ openai: [3, 1] }).get('openai')).toEqual(demand(3, 1));
  for (const stored of [null, 'x', [], { openai: 3 }, { openai: [-1, 0] }])
    expect(readCalls(stored).size).toBe(0);
});
