import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { endOfString, type MeasuredJson, measureJson } from '../../src/json/scan.ts';

const anyText = fc
  .array(
    fc.constantFrom(
      ...['[', ']', '{', '}', '"', '\\', '\\"', '\\\\', ',', ':', 'a', ' ', '1', 'é'],
      // An object of many keys takes that many colons.
      ':'.repeat(63),
    ),
    { maxLength: 60 },
  )
  .map((pieces) => pieces.join(''));

/** One character after the other, with no thought of speed. */
function measureSlowly(text: string): MeasuredJson {
  let isInString = false;
  let isEscaped = false;
  let values = 0;
  let depth = 0;
  let deepest = 0;
  let keys = 0;
  let totalKeys = 0;
  const open = [0];
  for (const character of text) {
    if (isInString) {
      if (!isEscaped && character === '"') isInString = false;
      isEscaped = !isEscaped && character === '\\';
      continue;
    }
    if (character === '"') isInString = true;
    if ('[{,:'.includes(character)) values += 1;
    if ('[{'.includes(character)) depth += 1;
    if (']}'.includes(character)) depth -= 1;
    deepest = Math.max(deepest, depth);
    if ('[{'.includes(character)) open[depth] = 0;
    if (character !== ':') continue;
    totalKeys += 1;
    open[depth] = (open[depth] ?? 0) + 1;
    if ((open[depth] ?? 0) > 64) keys += 1;
  }
  return { values, depth: deepest, keys, totalKeys };
}

test('any text is measured as a slow reader would', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      expect(measureJson(text, {})).toEqual(measureSlowly(text));
    }),
    { numRuns: 5_000 },
  );
});

test('a limit is exceeded exactly when there is more than it allows, and nothing is read beyond it', () => {
  fc.assert(
    fc.property(anyText, fc.nat(150), fc.nat(5), fc.nat(70), (text, values, depth, keys) => {
      const whole = measureSlowly(text);
      const measured = measureJson(text, { values, depth, keys });
      const exceeds = (extent: MeasuredJson) =>
        extent.values > values || extent.depth > depth || extent.keys > keys;
      expect(exceeds(measured)).toBe(exceeds(whole));
      expect(measured.keys).toBeLessThanOrEqual(keys + 1);
      expect(measured.values).toBeLessThanOrEqual(values + 1);
      expect(measured.depth).toBeLessThanOrEqual(depth + 1);
    }),
    { numRuns: 5_000 },
  );
});

test('a string ends where JSON says, and an open one with the text', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('"', '\\', 'a', '\n') }), anyText, (value, rest) => {
      const text = `${JSON.stringify(value)}${rest}`;
      expect(endOfString(text, 0)).toBe(JSON.stringify(value).length - 1);
      expect(endOfString(JSON.stringify(value).slice(0, -1), 0)).toBe(JSON.stringify(value).length - 1);
    }),
  );
});
