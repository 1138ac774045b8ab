import { expect, test } from 'bun:test';
import type { LogFields } from '../../src/lib/log.ts';
import { logSparingly } from '../../src/lib/log-sparingly.ts';
import { eventually } from '../support/eventually.ts';

test('the first time is logged at once, the rest together with their number, and then it starts over', async () => {
  const lines: LogFields[] = [];
  const note = logSparingly((fields) => lines.push(fields), 20);
  for (const generationId of ['a', 'b', 'c']) note({ generationId });
  expect(lines).toEqual([{ generationId: 'a', count: 1 }]);
  await eventually('the others are logged', () => lines.length > 1);
  expect(lines[1]).toEqual({ generationId: 'c', count: 2 });
  // A tick without anything new ends the pause, and nothing is written for it.
  await eventually('the next is logged at once', () => {
    note({ generationId: 'd' });
    return lines.at(-1)?.count === 1 && lines.length > 2;
  });
});
