/** How a run reports its progress, on a terminal and in a log. */
import { expect, test } from 'bun:test';
import { isWorthALine, ProgressPrinter, progressLine } from '../../scripts/test-progress.ts';

test('the line has both numbers', () => {
  expect(progressLine(268, 127)).toBe('127 of 268 files left');
});

test('a log gets a line for each tenth, and none at the end', () => {
  const said: number[] = [];
  let last = 268;
  for (let left = 267; left >= 0; left--) {
    if (!isWorthALine(268, last, left)) continue;
    said.push(left);
    last = left;
  }
  expect(said).toEqual([241, 214, 187, 160, 133, 106, 79, 52, 25]);
  expect([2, 1, 0].map((left) => isWorthALine(3, left + 1, left))).toEqual([true, true, false]);
});

function printed(isTerminal: boolean) {
  let text = '';
  const printer = new ProgressPrinter(2, isTerminal, (more) => {
    text += more;
  });
  return { printer, text: () => text };
}

test('in a log the line waits for the end of a line of the output', () => {
  const { printer, text } = printed(false);
  printer.write('(pass) o');
  printer.setLeft(1);
  printer.write('ne\n');
  printer.write('(pass) two\n');
  printer.setLeft(0);
  printer.end();
  expect(text()).toBe('(pass) one\n— 1 of 2 files left\n(pass) two\n');
});

test('on a terminal it stays below the output, and is gone in the end', () => {
  const { printer, text } = printed(true);
  printer.write('(pass) one\n');
  printer.setLeft(1);
  printer.write('(pass) t');
  printer.write('wo\n');
  printer.end();
  const shown = text()
    .split('\n')
    .map((line) => line.slice(line.lastIndexOf('\r\x1b[K') + 4).replace('\x1b[K', ''));
  expect(shown).toEqual(['(pass) one', '(pass) two', '']);
  expect(text()).toContain('\n2 of 2 files left\r\x1b[K1 of 2 files left\r\x1b[K(pass) t');
});
