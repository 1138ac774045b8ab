import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { SharedRecentMap } from '../../src/lib/shared-recent-map.ts';

type Entry = Readonly<{ owner: string; name: string; value: number }>;

/** The same rule, by looking at everything. */
class Model {
  readonly #max: number;
  /** Oldest first. */
  entries: readonly Entry[] = [];
  /** Those who set or lost one longest ago first. */
  #owners: readonly string[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  set(entry: Entry): void {
    const others = this.entries.filter(({ owner, name }) => owner !== entry.owner || name !== entry.name);
    this.entries = [...others, entry];
    this.#moveToEnd(entry.owner);
    if (this.entries.length <= this.#max) return;
    const most = Math.max(...this.#owners.map((owner) => this.#countOf(owner)));
    const loser = this.#owners.find((owner) => this.#countOf(owner) === most) ?? '';
    const forgotten = this.entries.find(({ owner }) => owner === loser);
    this.entries = this.entries.filter((each) => each !== forgotten);
    this.#moveToEnd(loser);
  }

  #countOf(owner: string): number {
    return this.entries.filter((each) => each.owner === owner).length;
  }

  #moveToEnd(owner: string): void {
    this.#owners = [...this.#owners.filter((other) => other !== owner), owner];
  }
}

test('whoever has the most loses the oldest, whatever was set before', () => {
  const owner = fc.constantFrom('a', 'b', 'c', 'd');
  const name = fc.constantFrom('1', '2', '3', '4', '5');
  const entry = fc.record({ owner, name, value: fc.nat() });
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 60 }), fc.integer({ min: 1, max: 9 }), (sets, max) => {
      const map = new SharedRecentMap<number>(max);
      const model = new Model(max);
      for (const each of sets) {
        map.set(each.owner, each.name, each.value);
        model.set(each);
        expect(map.size).toBe(model.entries.length);
        for (const of of ['a', 'b', 'c', 'd'])
          for (const called of ['1', '2', '3', '4', '5'])
            expect(map.get(of, called)).toBe(
              model.entries.find((one) => one.owner === of && one.name === called)?.value,
            );
      }
    }),
  );
});

test('an owner within its share loses nothing to others', () => {
  const map = new SharedRecentMap<number>(100);
  for (let index = 0; index < 10; index += 1) map.set('quiet', `${index}`, index);
  for (let index = 0; index < 10_000; index += 1) map.set(`busy ${index % 9}`, `${index}`, index);
  for (let index = 0; index < 10; index += 1) expect(map.get('quiet', `${index}`)).toBe(index);
  expect(map.size).toBe(100);
});
