/** Heads of responses are read in time proportional to their length, however they arrive. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { HeadReader, headerIn, maxHeadBytes, statusIn } from '../../src/webhooks/response-head.ts';

test('a head is the same in one piece and in many, and what follows it is no part of it', () => {
  const line = fc.constantFrom('a: b', 'Retry-After: 7', 'x:', '', ' ', '\r', '\n', 'HTTP/1.1 200 OK');
  fc.assert(
    fc.property(
      fc.array(line, { maxLength: 6 }),
      fc.nat({ max: 2 }),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
      (lines, interimCount, sizes) => {
        const head = ['HTTP/1.1 503 Busy', ...lines.filter((one) => one !== '')].join('\r\n');
        const expected = head.split('\r\n\r\n')[0] ?? '';
        const text = `${'HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n'.repeat(interimCount)}${head}\r\n\r\nbody`;
        const reader = new HeadReader();
        let read = null;
        let from = 0;
        for (let place = 0; read === null && from < text.length; place += 1) {
          const size = sizes[place % sizes.length] ?? 1;
          read = reader.add(Buffer.from(text.slice(from, from + size)));
          from += size;
        }
        expect(read).toEqual({ head: expected });
      },
    ),
  );
});

test('a head may have the longest length, and not a byte more', () => {
  const headOf = (length: number) => `HTTP/1.1 200 OK\r\nx: `.padEnd(length - 4, 'y');
  const longest = Buffer.from(`${headOf(maxHeadBytes)}\r\n\r\nbody`);
  expect(new HeadReader().add(longest)).toEqual({ head: headOf(maxHeadBytes) });
  const longer = Buffer.from(`${headOf(maxHeadBytes + 1)}\r\n\r\nbody`);
  expect(new HeadReader().add(longer)).toBe('too_long');
  const interim = Buffer.from('HTTP/1.1 100 Continue\r\n\r\n'.repeat(maxHeadBytes));
  expect(new HeadReader().add(interim)).toBe('too_long');
});

test('a header is found by its name, and blanks around its value do not count', () => {
  const head = 'HTTP/1.1 503 Busy\r\nX-Retry-After: 1\r\nRETRY-AFTER: \t 120 \t\r\nretry-after: 7';
  expect(headerIn(head, 'retry-after')).toBe('120');
  expect(headerIn(head, 'retry')).toBeNull();
  expect(statusIn(head)).toBe(503);
});

test('blanks cost no more than other bytes', () => {
  // A search that starts again at each blank would need a million times a million steps.
  const blanks = ' '.repeat(1_000_000);
  expect(headerIn(`HTTP/1.1 503 Busy\r\nretry-after:${blanks}x${blanks}\r\n`, 'retry-after')).toBe('x');
  expect(headerIn(`HTTP/1.1 503 Busy${blanks}\r\n${blanks}retry-after: 1`, 'retry-after')).toBeNull();
});
