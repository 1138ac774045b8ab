/** JSON from outside is measured before it is parsed, whatever its size and wherever it comes from. */
import { afterAll, afterEach, expect, spyOn, test } from 'bun:test';
import fc from 'fast-check';
import { ApiError } from '../../src/errors.ts';
import { parseJsonBody } from '../../src/json/body.ts';
import { JsonLimitError, parseBoundedJson } from '../../src/json/bounded.ts';
import { measureJson } from '../../src/json/scan.ts';
import { readCallId } from '../../src/providers/google-request.ts';
import { parseJson, parseObject } from '../../src/providers/wire.ts';

const parser = spyOn(JSON, 'parse');
afterEach(() => void parser.mockClear());
afterAll(() => void parser.mockRestore());

const manyKeys = `{${Array.from({ length: 10_065 }, (_, index) => `"${index}":0`).join()}}`;
const hostile: readonly (readonly [string, string, RegExp])[] = [
  ['200 lists in each other', '['.repeat(200), /nested deeper/],
  ['65,000 lists in each other', '['.repeat(65_000), /nested deeper/],
  ['13,000 objects in each other', '{"a":'.repeat(13_000), /nested deeper/],
  ['150,000 lists beside each other', `{"a":[${'[],'.repeat(150_000)}0]}`, /more than 75001 values/],
  ['50,001 numbers with names', `{"a":[${'{"b":0},'.repeat(50_001)}0]}`, /more than 66669 values/],
  ['an object of 10,065 keys', manyKeys, /more than 1000 keys/],
];

test.each(hostile)('a body of %s is refused and not parsed', (_, text, message) => {
  const thrown = thrownBy(() => parseJsonBody(Buffer.from(text)));
  expect(thrown).toBeInstanceOf(ApiError);
  expect((thrown as ApiError).code).toBe('invalid_parameter');
  expect((thrown as ApiError).message).toMatch(message);
  expect(parser).not.toHaveBeenCalled();
});

test.each(hostile)("a provider's answer or event of %s is refused and not parsed", (_, text) => {
  expect(thrownBy(() => parseJson(text))).toBeInstanceOf(JsonLimitError);
  expect(parseObject(text)).toBeNull();
  expect(parseObject(text, parseJson)).toBeNull();
  expect(parser).not.toHaveBeenCalled();
});

test('20 MB of brackets are refused after the first of them', () => {
  const answer = '['.repeat(20_000_000);
  expect(measureJson(answer, { depth: 128 })).toEqual({ values: 129, depth: 129, keys: 0, totalKeys: 0 });
  expect(thrownBy(() => parseJson(answer))).toMatchObject({ name: 'JsonLimitError', limit: 'depth' });
  expect(parser).not.toHaveBeenCalled();
});

test('an ID of a tool call that holds something else is not parsed', () => {
  const packed = Buffer.from('['.repeat(50_000)).toString('base64url');
  expect(readCallId(`call_1_0_${packed}`)).toEqual({ signature: null, upstreamId: null });
  expect(parser).not.toHaveBeenCalled();
});

test('within the limits a text is what JSON.parse makes of it, beyond them nothing', () => {
  let refused = 0;
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), fc.nat(20), fc.nat(4), fc.nat(3), (text, values, depth, keys) => {
      const extent = measureJson(text, {});
      const isWithin = extent.depth <= depth && extent.values <= values && extent.keys <= keys;
      if (isWithin) {
        const { value, keys: written } = parseBoundedJson(text, { values, depth, keys });
        expect(value).toEqual(JSON.parse(text));
        expect(written).toBe(extent.totalKeys);
      } else {
        refused++;
        expect(thrownBy(() => parseBoundedJson(text, { values, depth, keys }))).toBeInstanceOf(
          JsonLimitError,
        );
      }
    }),
    { numRuns: 2_000 },
  );
  expect(refused).toBeGreaterThan(100);
});

function thrownBy(run: () => unknown): unknown {
  try {
    run();
  } catch (thrown) {
    return thrown;
  }
  return null;
}
