/** The reader of large bodies, compared with JSON.parse and with the checks that small bodies pass. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { JsonLimitError } from '../../src/json/bounded.ts';
import { findDuplicateKey } from '../../src/json/keys.ts';
import { measureJson } from '../../src/json/scan.ts';
import { parseInSteps } from '../../src/json/steps.ts';
import { inspectTree } from '../../src/json/tree.ts';

const limits = { depth: 64, values: 100_000, keys: 1_000 };
/** An object with this many keys. */
const wide = (keys: number) => `{${Array.from({ length: keys }, (_, index) => `"${index}":0`).join()}}`;
const atOnce = () => Promise.resolve();

/** What a parser makes of a text: its value, or that it is invalid. */
async function outcomeOf(parse: () => unknown): Promise<unknown> {
  try {
    return { value: await parse() };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return 'no JSON';
  }
}

const inSteps = (text: string, step?: number) => parseInSteps(text, limits, atOnce, step);
const stepSize = fc.constantFrom(16, 17, 23, 40, 1_000);

/** JSON as others write it: white space, escapes, the same key again, characters from everywhere. */
const string = fc
  .array(
    fc.constantFrom(
      'a',
      'b',
      '\\n',
      '\\"',
      '\\\\',
      '\\u0061',
      '\\ud83d\\ude00',
      '\\ud800',
      '\\u0000',
      '😀',
      'é',
      '\\/',
      '中',
    ),
    { maxLength: 12 },
  )
  .map((pieces) => `"${pieces.join('')}"`);
const space = fc.constantFrom('', '', ' ', '\n', '\t\r  ');
const number = fc.constantFrom('0', '-0', '1.5', '-1e3', '1E-400', '1e400', '123456789012345678901234567890');
const { value: json } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    string,
    number,
    fc.constantFrom('true', 'false', 'null', '[]', '{}', '"__proto__"'),
    fc
      .array(
        fc.tuple(space, tie('value'), space).map((parts) => parts.join('')),
        { maxLength: 4 },
      )
      .map((items) => `[${items.join(',')}]`),
    fc
      .array(
        fc
          .tuple(
            space,
            fc.oneof(string, fc.constantFrom('"__proto__"', '"1"', '"k"')),
            space,
            tie('value'),
            space,
          )
          .map(([before, key, between, value, after]) => `${before}${key}${between}:${value}${after}`),
        { maxLength: 4 },
      )
      .map((pairs) => `{${pairs.join(',')}}`),
  ),
}));

test('JSON is read as JSON.parse reads it, however small the steps', async () => {
  await fc.assert(
    fc.asyncProperty(json, stepSize, async (text, step) => {
      const { value } = await inSteps(text, step);
      const expected: unknown = JSON.parse(text);
      expect(JSON.stringify(value)).toBe(JSON.stringify(expected));
      expect(value).toEqual(expected);
    }),
    { numRuns: 3_000 },
  );
});

test('what JSON.parse refuses is refused, and nothing else', async () => {
  let refused = 0;
  const damaged = fc.oneof(
    fc
      .tuple(
        json,
        fc.nat(),
        fc.nat(3),
        fc.string({ unit: fc.constantFrom(...'{}[]":,\\u0a1e-.+ ntrue\u0001'), maxLength: 3 }),
      )
      .map(([text, at, length, other]) => {
        const place = at % (text.length + 1);
        return text.slice(0, place) + other + text.slice(place + length);
      }),
    fc.string({ unit: fc.constantFrom(...'{}[]":,\\u0a1e-. ntrue') }),
  );
  await fc.assert(
    fc.asyncProperty(damaged, stepSize, async (text, step) => {
      const expected = await outcomeOf(() => JSON.parse(text));
      if (expected === 'no JSON') refused++;
      expect(await outcomeOf(async () => (await inSteps(text, step)).value)).toEqual(expected);
    }),
    { numRuns: 5_000 },
  );
  expect(refused).toBeGreaterThan(500);
});

test('faults and duplicates are found where the checks of small bodies find them', async () => {
  let faults = 0;
  let duplicates = 0;
  await fc.assert(
    fc.asyncProperty(json, stepSize, async (text, step) => {
      const { fault, duplicate } = await inSteps(text, step);
      const found = findDuplicateKey(text);
      expect(duplicate).toEqual(found);
      if (found !== null) duplicates++;
      // JSON.parse puts keys that are numbers first, and a duplicate hides what stood there before it.
      else if (!text.includes('"1"')) expect(fault).toEqual(inspectTree(JSON.parse(text), true).fault);
      if (fault !== null) faults++;
    }),
    { numRuns: 3_000 },
  );
  expect(Math.min(faults, duplicates)).toBeGreaterThan(100);
});

test('the limits are those of the scan', async () => {
  await fc.assert(
    fc.asyncProperty(json, fc.nat(12), fc.integer({ min: 1, max: 4 }), async (text, values, depth) => {
      const extent = measureJson(text, limits);
      const outcome = await parseInSteps(text, { ...limits, values, depth }, atOnce).catch(
        (error: unknown) => error,
      );
      expect(outcome instanceof JsonLimitError).toBe(extent.values > values || extent.depth > depth);
    }),
    { numRuns: 2_000 },
  );
});

test('a long text is read with pauses, also inside of one string and of white space', async () => {
  const texts = [
    `"${'x'.repeat(1_000_000)}"`,
    `"${'\\\\'.repeat(500_000)}"`,
    `"${'\\"'.repeat(500_000)}"`,
    `"${'\\u00e9'.repeat(160_000)}"`,
    `${' '.repeat(1_000_000)}1`,
    `[${'1,'.repeat(50_000)}1]`,
  ];
  for (const text of texts) {
    let pauses = 0;
    const { value } = await parseInSteps(text, limits, async () => void pauses++);
    expect(value).toEqual(JSON.parse(text));
    expect(pauses).toBeGreaterThanOrEqual(3);
  }
});

test.each([
  [`{"a":${wide(66)}}`, { keys: 1 }, 'keys', ['a']],
  [`{"a":${wide(65)},"b":[${wide(64)},${wide(65)}]}`, { keys: 1 }, 'keys', ['b', 1]],
  ['{"a":[0,[1]]}', { depth: 2 }, 'depth', ['a', 1]],
  ['[0,[1,2,3]]', { values: 3 }, 'values', []],
  [`{"a":[0,${'1'.repeat(1_025)}]}`, {}, 'digits', ['a', 1]],
] as const)('the limit that %s passes is named, with its place', async (text, lower, limit, path) => {
  const thrown = await parseInSteps(text, { ...limits, ...lower }, atOnce).catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(JsonLimitError);
  expect(thrown).toMatchObject({ name: 'JsonLimitError', limit, path });
});

test('what just reaches the limits is read', async () => {
  const text = `{"a":[0,${'1'.repeat(300)}],"b":{"c":0.${'1'.repeat(1_022)}}}`;
  const exact = { depth: 2, values: 8, keys: 0 };
  expect((await parseInSteps(text, exact, atOnce)).value).toEqual(JSON.parse(text));
});

test.each([' ', '\n', '\r', '\t'])(
  'white space of any kind may be longer than a step: %j',
  async (character) => {
    const space = character.repeat(100);
    const text = `${space}[${space}1${space},${space}2${space}]${space}`;
    expect((await inSteps(text, 16)).value).toEqual([1, 2]);
  },
);

test('white space inside a string is kept, wherever a step ends', async () => {
  const value = `a${' '.repeat(100)}b${' '.repeat(100)}`;
  expect((await inSteps(JSON.stringify(value), 16)).value).toBe(value);
});

test.each(['[x,1]', '[-,1]', '[+1]', '{"a":.5}'])(
  'no number is looked for after its place: %s',
  async (text) => {
    expect(await outcomeOf(() => inSteps(text))).toBe('no JSON');
  },
);

test('__proto__ is a property with the attributes of any other', async () => {
  const text = '{"__proto__":1,"a":2}';
  const { value } = await inSteps(text);
  expect(Object.getOwnPropertyDescriptors(value)).toEqual(Object.getOwnPropertyDescriptors(JSON.parse(text)));
});
