/** Which streams are still read when a node has no slots left. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { type ReadOn, ReadOnStreams } from '../../src/inference/read-on-streams.ts';

type Place = Readonly<{ account: string; isStopped: boolean; readOn: ReadOn }>;

function open(streams: ReadOnStreams, account: string): Place {
  let isStopped = false;
  const readOn = streams.begin(account, () => {
    isStopped = true;
  });
  return {
    account,
    readOn,
    get isStopped() {
      return isStopped;
    },
  };
}

test('one account has all slots to itself, and gives them up one by one to another', () => {
  const streams = new ReadOnStreams(4);
  const greedy = Array.from({ length: 6 }, () => open(streams, 'greedy'));
  expect(greedy.map(({ isStopped }) => isStopped)).toEqual([true, true, false, false, false, false]);
  const modest = [open(streams, 'modest'), open(streams, 'modest')];
  expect(modest.map(({ isStopped }) => isStopped)).toEqual([false, false]);
  expect(greedy.filter(({ isStopped }) => !isStopped)).toHaveLength(2);
});

test('there are never more than the slots, and nobody within a fair share is stopped', () => {
  const step = fc.record({ account: fc.constantFrom('a', 'b', 'c'), ends: fc.boolean(), pick: fc.nat(100) });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 12 }), fc.array(step, { maxLength: 120 }), (most, steps) => {
      const streams = new ReadOnStreams(most);
      let places: Place[] = [];
      for (const { account, ends, pick } of steps) {
        if (ends && places.length > 0) {
          const [ended] = places.splice(pick % places.length, 1);
          ended?.readOn.end();
          continue;
        }
        const before = places.filter((place) => !place.isStopped);
        const countOf = (name: string) => before.filter((place) => place.account === name).length;
        const added = open(streams, account);
        places.push(added);
        const stopped = places.filter((place) => place.isStopped);
        places = places.filter((place) => !place.isStopped);
        expect(places.length).toBeLessThanOrEqual(most);
        expect(stopped.length).toBe(before.length === most ? 1 : 0);
        for (const { account: loser } of stopped) {
          const share = countOf(loser) + (loser === account ? 1 : 0);
          for (const name of ['a', 'b', 'c']) expect(countOf(name)).toBeLessThanOrEqual(share);
        }
      }
    }),
  );
});

test('when the process stops, all of them are over, and so is whatever begins', () => {
  const streams = new ReadOnStreams(4);
  const places = [open(streams, 'a'), open(streams, 'b')];
  streams.giveUp();
  places.push(open(streams, 'c'));
  expect(places.map(({ readOn }) => readOn.isOver())).toEqual([true, true, true]);
});
