import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { SseParser } from '../../src/lib/sse.ts';

const parseWhole = (text: string) => new SseParser().push(text);

test.each([
  ['one event', 'data: a\n\n', ['a']],
  ['several in one read', 'data: a\n\ndata: b\n\n', ['a', 'b']],
  ['carriage returns', 'data: a\r\n\r\ndata: b\r\rdata: c\r\n\r\n', ['a', 'b', 'c']],
  ['comments and names', ': hello\n\nevent: x\nid: 7\nretry: 5\ndata: a\n\n', ['a']],
  ['data over several lines', 'data: a\ndata: b\ndata:\ndata: c\n\n', ['a\nb\n\nc']],
  [
    'one blank after the colon belongs to the format',
    'data:a\n\ndata:  b\n\ndata:\tc\n\n',
    ['a', ' b', '\tc'],
  ],
  ['a field whose name only begins with data', 'database: a\n\ndata: b\n\n', ['b']],
  ['a field without a colon', 'data\n\n', ['']],
  ['a byte order mark', '\ufeffdata: a\n\n', ['a']],
  ['an event without its blank line', 'data: a\n', []],
  ['blank lines only', '\n\n\n', []],
] as [string, string, string[]][])('%s', (_name, text, events) => {
  // A trailing carriage return waits for its line feed.
  const parser = new SseParser();
  expect([...parser.push(text), ...parser.push('\n')].slice(0, events.length)).toEqual(events);
});

const line = fc.oneof(
  fc.string().map((text) => `data: ${text.replaceAll(/[\r\n]/g, '')}`),
  fc.constantFrom(': comment', 'event: x', '', '', 'data', 'data:é𝄞'),
);
const streams = fc
  .array(fc.tuple(line, fc.constantFrom('\n', '\r\n', '\r')), { maxLength: 20 })
  .map((lines) => `${lines.map(([text, end]) => text + end).join('')}\n\n`);

test('any split of the bytes gives the same events', () => {
  fc.assert(
    fc.property(streams, fc.array(fc.nat(200), { maxLength: 12 }), (text, cuts) => {
      const bytes = Buffer.from(text);
      const places = [
        0,
        ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b),
        bytes.length,
      ];
      const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
      const parser = new SseParser();
      const events = places
        .slice(1)
        .flatMap((end, index) =>
          parser.push(decoder.decode(bytes.subarray(places[index], end), { stream: true })),
        );
      expect(events).toEqual(parseWhole(text));
    }),
  );
});

test('every single byte on its own gives the same events', () => {
  const text = ': hi\r\ndata: {"a":"é𝄞"}\r\n\r\ndata: b\ndata: c\n\ndata: [DONE]\n\n';
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const parser = new SseParser();
  const events = [...Buffer.from(text)].flatMap((byte) =>
    parser.push(decoder.decode(Uint8Array.of(byte), { stream: true })),
  );
  expect(events).toEqual(['{"a":"é𝄞"}', 'b\nc', '[DONE]']);
});

test('an event that is too long is skipped before it fills the memory, and later ones are read', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 60 }),
      fc.boolean(),
      fc.constantFrom('\n', '\r\n', '\r'),
      (sizes, isOneLine, lineEnd) => {
        const tooLong = isOneLine
          ? `data: ${'x'.repeat(1_500)}${lineEnd}`
          : `data: ${'x'.repeat(200)}${lineEnd}`.repeat(8);
        const text = ['data: before', '', tooLong, 'data: after', '', ': end', ''].join(lineEnd);
        const parser = new SseParser(1_000);
        const events: (string | null)[] = [];
        for (let place = 0, round = 0; place < text.length; round += 1) {
          const size = sizes[round % sizes.length] ?? 1;
          events.push(...parser.push(text.slice(place, place + size)));
          place += size;
        }
        expect(events).toEqual(['before', null, 'after']);
      },
    ),
  );
});

/** What each of the pieces completes. */
function pushed(maxEvent: number, ...pieces: readonly string[]): (string | null)[][] {
  const parser = new SseParser(maxEvent);
  return pieces.map((piece) => parser.push(piece));
}

describe('the bound of an event', () => {
  test('covers the line at hand and the data before it', () => {
    expect(pushed(10, 'data: abcd', '\n\n')).toEqual([[], ['abcd']]);
    expect(pushed(10, 'data: abcde', '\n\n')).toEqual([[null], []]);
    expect(pushed(10, 'data: abcd\n', 'data: ', '\n\n')).toEqual([[], [], ['abcd\n']]);
    expect(pushed(10, 'data: abcd\n', 'data: e', '\n\n')).toEqual([[], [null], []]);
  });

  test('is a mebibyte unless another one is given', () => {
    const line = (length: number) => `data: ${'x'.repeat(length - 6)}`;
    expect(new SseParser().push(line(1_048_576))).toEqual([]);
    expect(new SseParser().push(line(1_048_577))).toEqual([null]);
  });

  test('is reported once, however long the event goes on', () => {
    const pieces = [
      'data: abcdef',
      'ghijklmnopqrstuvwxyz',
      'abcdefghijklmnop\ndata: x',
      '\n\n',
      'data: y\n\n',
    ];
    expect(pushed(10, ...pieces)).toEqual([[null], [], [], [], ['y']]);
    // The line has not ended, so only a line end is missing, and not the event.
    expect(pushed(10, 'data: abcdef', '\ndata: z\n', '\ndata: y\n\n')).toEqual([[null], [], ['y']]);
  });

  test('may be exceeded right after a line end, or in the middle of one', () => {
    expect(pushed(3, 'data: abcd\n', '\n', 'data: x\n\n')).toEqual([[null], [], ['x']]);
    expect(pushed(8, 'data: abcd\r', '\n\r\n', 'data: x\n\n')).toEqual([[null], [], ['x']]);
  });
});

test('a byte order mark is dropped at the very beginning and nowhere else', () => {
  expect(pushed(100, '', '\ufeffdata: a\n\n')).toEqual([[], ['a']]);
  expect(pushed(100, 'data: a\n\n', '\ufeffdata: b\n\n')).toEqual([['a'], []]);
  expect(pushed(100, 'data: a\n\ndata: ', '\ufeffb\n\n')).toEqual([['a'], ['\ufeffb']]);
});

test('the next piece starts with a new event only after a blank line', () => {
  const parser = new SseParser(10);
  const isBetween = (piece: string) => {
    parser.push(piece);
    return parser.isBetweenEvents;
  };
  // At the very beginning there may be a byte order mark.
  expect(parser.isBetweenEvents).toBe(false);
  expect(['data: a\n\n', ': comment', '\n', 'data: b', '\n', '\n', 'data: c\r'].map(isBetween)).toEqual([
    ...[true, false, true, false, false, true, false],
  ]);
  expect(['\n\r\n', 'data: 1234567890a\n', '\n'].map(isBetween)).toEqual([true, false, true]);
});
