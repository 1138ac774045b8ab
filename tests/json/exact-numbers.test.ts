/** Numbers in bodies that JavaScript cannot represent. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseJsonBody, readJsonBody } from '../../src/json/body.ts';

const post = (body: string) =>
  new Request('http://gateway', { method: 'POST', headers: { 'content-type': 'application/json' }, body });

const number = fc
  .tuple(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), fc.constantFrom('', 'e+400'))
  .map(([digits, exponent]) => `${digits}${exponent}`);

test('print as they were written, where a body keeps them', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(number), fc.boolean(), async (numbers, isLarge) => {
      const padding = isLarge ? 'x'.repeat(600_000) : '';
      const sent = `{"p":"${padding}","n":[${numbers.join()}],"o":{"x":1,"y":0.5}}`;
      const printed = JSON.stringify(await readJsonBody(post(sent), { keepsNumbers: true }));
      const expected = numbers.map((text) => {
        const value = Number(text);
        return Number.isSafeInteger(value) ? `${value}` : text;
      });
      expect(printed).toBe(`{"p":"${padding}","n":[${expected.join()}],"o":{"x":1,"y":0.5}}`);
    }),
    { numRuns: 60 },
  );
});

test('are rounded where nobody asked to keep them, and refused when they are infinite', async () => {
  expect(await readJsonBody(post('{"n":12345678901234567890}'))).toEqual({ n: 12_345_678_901_234_567_000 });
  expect(await readJsonBody(post('{"n":1e400}')).catch(String)).toContain('too large');
});

test('do not hide a key that appears twice', () => {
  const bytes = Buffer.from('{"n":12345678901234567890,"n":1}');
  expect(() => parseJsonBody(new Uint8Array(bytes), undefined, true)).toThrow('more than once');
});
