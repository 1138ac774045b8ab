/** Something unreadable in a stream costs that event and nothing else: events before and after it are still read. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { EventDecoder } from '../../src/providers/event-decoder.ts';
import { ProviderError } from '../../src/providers/upstream.ts';

/** Reads numbers and fails on anything else. */
const reader = {
  read: (data: string) => {
    if (!/^\d+$/.test(data)) throw new ProviderError('malformed_stream_chunk');
    return [data];
  },
  unreadable: ({ code }: ProviderError) => code,
  tooLong: () => 'too long',
  readCommon: () => 0,
};

function eventsOf(reads: readonly Uint8Array[]): string[] {
  const decoder = new EventDecoder(reader);
  return reads.flatMap((bytes) => [...decoder.take(bytes)]);
}

const numbers = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => `${from + index}`);
const framed = (data: string) => Buffer.from(`data: ${data}\n\n`);
const unreadable = fc.constantFrom(
  framed('{oops'),
  framed('wörter'),
  Buffer.from('data: 7\xff\n\n', 'latin1'),
  Buffer.from('data: 7\xc3\n\n', 'latin1'),
  Buffer.from('data: \xff\xfe\ndata: \xe2\x82\n\n', 'latin1'),
  Buffer.from(': a comment \x80\ndata: x\n\n', 'latin1'),
);

test('however the bytes are cut, and however often it happens', () => {
  fc.assert(
    fc.property(
      fc.nat({ max: 4 }),
      fc.array(unreadable, { minLength: 1, maxLength: 3 }),
      fc.nat({ max: 4 }),
      fc.array(fc.nat({ max: 200 })),
      (before, broken, after, places) => {
        const bytes = Buffer.concat([
          ...numbers(10, before).map(framed),
          ...broken,
          ...numbers(20, after).map(framed),
        ]);
        const ends = [...places.filter((place) => place < bytes.length), bytes.length].sort((a, b) => a - b);
        const reads = ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
        // Nothing is forwarded after the first, so it does not matter what happens to another.
        const events = eventsOf(reads).filter((event, index) => event !== '7' || index <= before);
        expect(events).toEqual([...numbers(10, before), 'malformed_stream_chunk', ...numbers(20, after)]);
      },
    ),
    { numRuns: 2_000 },
  );
});

test('characters that are cut in two are joined again', () => {
  const text = { ...reader, read: (data: string) => [data] };
  const bytes = framed('wörter 漢字 👍');
  for (let at = 0; at <= bytes.length; at += 1) {
    const decoder = new EventDecoder(text);
    const events = [...decoder.take(bytes.subarray(0, at)), ...decoder.take(bytes.subarray(at))];
    expect(events).toEqual(['wörter 漢字 👍']);
  }
});

test('a defect of the reader is not the provider’s', () => {
  const decoder = new EventDecoder({
    ...reader,
    read: () => {
      throw new TypeError('defect');
    },
  });
  expect(() => decoder.take(framed('1'))).toThrow('defect');
});
