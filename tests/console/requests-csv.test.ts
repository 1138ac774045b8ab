import { expect, test } from 'bun:test';
import { columns, fileOf } from '../../src/console/requests-csv.ts';
import { newId } from '../../src/lib/ids.ts';
import type { RequestFilter } from '../../src/requests/filter.ts';

test('a file that is cut off says so in a line with as many cells as any other', async () => {
  const filter = { end: newId() } as RequestFilter;
  const file = fileOf(columns, filter, { inSlot: (run) => run() }, async () => ({
    rows: [],
    scannedTo: newId(),
  }));
  let text = '';
  for await (const piece of file.pieces) text += piece;
  const [header = '', last = '', ...others] = text.trimEnd().split('\r\n');
  expect(others).toEqual([]);
  const [note = ''] = /^"[^"]+"/.exec(last) ?? [];
  expect(note).toContain('This file ends here.');
  expect(last).toBe(note + ','.repeat(header.split(',').length - 1));
});
