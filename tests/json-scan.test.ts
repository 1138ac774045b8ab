import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { endOfString, type JsonExtent, measureJson } from '../src/lib/json-scan.ts';

const anyText = fc
  .array(fc.constantFrom('[', ']', '{', '}', '"', '\\', '\\"', '\\\\', ',', ':', 'a', ' ', '1', 'é'), {
    maxLength: 60,
  })
  .map((pieces) => pieces.join(''));

const unlimited = { values: Number.POSITIVE_INFINITY, depth: Number.POSITIVE_INFINITY };

/** One character after the other, with no thought of speed. */
function measureSlowly(text: string): JsonExtent {
  let isInString = false;
  let isEscaped = false;
  let values = 0;
  let depth = 0;
  let deepest = 0;
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
  }
  return { values, depth: deepest };
}

test('any text is measured as a slow reader would', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      expect(measureJson(text, unlimited)).toEqual(measureSlowly(text));
    }),
    { numRuns: 5_000 },
  );
});

test('a limit is exceeded exactly when there is more than it allows, and nothing is read beyond it', () => {
  fc.assert(
    fc.property(anyText, fc.nat(10), fc.nat(5), (text, values, depth) => {
      const whole = measureSlowly(text);
      const measured = measureJson(text, { values, depth });
      expect(measured.values > values || measured.depth > depth).toBe(
        whole.values > values || whole.depth > depth,
      );
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
