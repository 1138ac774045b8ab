import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { Tally } from '../../src/lib/tally.ts';

test('counts by name, and forgets every name that is back at zero', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('a', 'b', '__proto__'), { maxLength: 30 }), (names) => {
      const tally = new Tally();
      for (const name of names) tally.add(name, 1);
      for (const name of names) expect(tally.of(name)).toBe(names.filter((other) => other === name).length);
      expect(tally.size).toBe(new Set(names).size);
      for (const name of names) tally.add(name, -1);
      expect(tally.size).toBe(0);
    }),
  );
});
