/** W3C trace context: what is taken from a client, and what a provider is told. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { readTraceparent, spanIdOf, traceOf, traceparentOf } from '../../src/http/trace-context.ts';
import { newId } from '../../src/lib/ids.ts';

const hex = (length: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: length, maxLength: length });
const traceId = hex(32).filter((text) => !/^0+$/.test(text));
const spanId = hex(16).filter((text) => !/^0+$/.test(text));

test('what is written is read, with whether it is sampled', () => {
  fc.assert(
    fc.property(traceId, spanId, fc.boolean(), (trace, span, isSampled) => {
      const written = traceparentOf({ traceId: trace, parentId: null, isSampled }, span);
      expect(readTraceparent(written)).toEqual({ traceId: trace, parentId: span, isSampled });
    }),
  );
});

const trace = '0af7651916cd43dd8448eb211c80319c';
const span = 'b7ad6b7169203331';

test.each([
  ['nothing', null],
  ['no trace', `00-${'0'.repeat(32)}-${span}-01`],
  ['no span', `00-${trace}-${'0'.repeat(16)}-01`],
  ['the version that is forbidden', `ff-${trace}-${span}-01`],
  ['more than version 00 has', `00-${trace}-${span}-01-more`],
  ['capital letters', `00-${trace.toUpperCase()}-${span}-01`],
  ['too long', `01-${trace}-${span}-01-${'x'.repeat(600)}`],
])('is not taken: %s', (_what, header) => {
  expect(readTraceparent(header)).toBeNull();
});

test('a later version may say more', () => {
  expect(readTraceparent(`01-${trace}-${span}-03-more`)).toEqual({
    traceId: trace,
    parentId: span,
    isSampled: true,
  });
});

test('any header leads to a trace, and every attempt of a request to its own span', () => {
  fc.assert(
    fc.property(fc.option(fc.string()), (header) => {
      const id = newId();
      const { traceId: own } = traceOf(id, header);
      const ids = [0, 1, 2, 9].map((attempt) => spanIdOf(id, attempt));
      expect(new Set(ids).size).toBe(4);
      for (const one of ids)
        expect(readTraceparent(traceparentOf(traceOf(id, header), one))).toMatchObject({ traceId: own });
    }),
  );
});
