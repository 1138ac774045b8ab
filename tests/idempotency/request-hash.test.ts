/** Two requests are the same when their JSON is, whatever the order of fields, and however long it is. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { hashRequest } from '../../src/idempotency/request-hash.ts';
import { CanonicalJson } from '../../src/json/canonical.ts';

function canonical(value: unknown): string {
  const json = new CanonicalJson(value);
  let text = '';
  for (let slice = json.nextSlice(); slice !== ''; slice = json.nextSlice()) text += slice;
  return text;
}

/** The same value with the fields of every object the other way round. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, field]) => [name, reversed(field)])
      .toReversed(),
  );
}

test('the canonical form is JSON of the same value, and the same in any order of fields', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      const value: unknown = JSON.parse(text);
      const form = canonical(value);
      expect(JSON.parse(form)).toEqual(value);
      expect(canonical(reversed(value))).toBe(form);
    }),
  );
});

test('other JSON has another hash, and so has another route', async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), fc.jsonValue(), async (one, other) => {
      const isSame = canonical(one) === canonical(other);
      expect((await hashRequest('chat', one)) === (await hashRequest('chat', other))).toBe(isSame);
      expect(await hashRequest('images', one)).not.toBe(await hashRequest('chat', one));
    }),
  );
});

test('a text of many slices is spelled as in one, with characters across every boundary', () => {
  for (const shift of ['', 'x']) {
    const long = shift + '\u{1f600}"\n€'.repeat(60_000);
    expect(canonical({ long }) === JSON.stringify({ long })).toBe(true);
  }
});

test('others get their turn while a long body is hashed', async () => {
  let turns = 0;
  let isDone = false;
  const others = (async () => {
    while (!isDone) {
      await new Promise((resolve) => setImmediate(resolve));
      turns += 1;
    }
  })();
  const entries = Array.from({ length: 20_000 }, (_, index) => ({ [`name-${index}`]: 'x'.repeat(500) }));
  await hashRequest('chat', { entries });
  const turnsMeanwhile = turns;
  isDone = true;
  await others;
  expect(turnsMeanwhile).toBeGreaterThan(3);
});

test('long bodies are hashed one after the other, and short ones do not wait for them', async () => {
  const order: string[] = [];
  const hash = async (name: string, length: number) => {
    await hashRequest('chat', { text: 'x'.repeat(length) });
    order.push(name);
  };
  await Promise.all([hash('long', 8_000_000), hash('less long', 2_000_000), hash('short', 1_000)]);
  expect(order).toEqual(['short', 'long', 'less long']);
});

test('the hash of a request stays the same from version to version', async () => {
  expect(await hashRequest('chat', { b: [1, 'x', null], a: { d: true, c: 0.5 } })).toBe(
    '618bbab3f1423e2b83076f79224ab53ee3eaf3a87a245caa58c4b422f91ce238',
  );
});

test('a slice is no longer than it has to be, and only the end is empty', () => {
  const slicesOf = (value: unknown) => {
    const json = new CanonicalJson(value);
    const slices: string[] = [];
    do slices.push(json.nextSlice());
    while (slices.at(-1) !== '');
    return slices.slice(0, -1).map(({ length }) => length);
  };
  expect(slicesOf('x'.repeat(65_534))).toEqual([65_536]);
  // Only what is longer than a slice is cut.
  expect(slicesOf('x'.repeat(65_536))).toEqual([65_538]);
  expect(slicesOf('x'.repeat(65_537))).toEqual([65_537, 2]);
  expect(slicesOf('x'.repeat(131_072))).toEqual([65_537, 65_537]);
  expect(slicesOf(Array.from({ length: 40_000 }, () => 1))).toEqual([65_536, 14_465]);
  // A character is never cut in two, and a lone half ends with the text.
  expect(slicesOf(`${'x'.repeat(65_535)}😀x`)).toEqual([65_538, 2]);
  expect(canonical(`${'x'.repeat(65_536)}\ud83d`)).toBe(JSON.stringify(`${'x'.repeat(65_536)}\ud83d`));
});
