/**
 * A bill from a CSV file, for providers without a report of costs. Its first line names the columns: day and amount, and
 * optionally model, currency, meter and quantity, in any order.
 */
import { parseTime } from '../lib/calendar.ts';
import { readAmount } from './amount.ts';
import {
  type Bill,
  BillError,
  type BillLine,
  cleanName,
  cleanText,
  type DatedLine,
  linesByDay,
} from './bill.ts';

export const maxFileBytes = 32 * 1024 * 1024;
const maxLines = 200_000;

const columns = ['day', 'model', 'amount', 'currency', 'meter', 'quantity'] as const;
type ColumnName = (typeof columns)[number];

/** Only the days that the file names are part of the bill: a day without cost needs a line with the amount 0. */
export function readBillFile(text: string, from: string, to: string): Bill {
  const rows = readCsv(text.replace(/^\uFEFF/, ''));
  const [head, ...body] = rows;
  if (head === undefined) throw new BillError('The file is empty.');
  if (body.length > maxLines) throw new BillError(`The file has more than ${maxLines} lines.`);
  const places = readHead(head.cells);
  const lines = body
    .map(({ cells, lineNumber }) => readRow(cells, places, lineNumber))
    .filter(({ day }) => day >= from && day <= to);
  return { source: 'file', days: linesByDay(lines), refreshedAt: null, notes: [] };
}

function readHead(cells: readonly string[]): ReadonlyMap<ColumnName, number> {
  const places = new Map<ColumnName, number>();
  cells.forEach((cell, place) => {
    const name = columns.find((column) => column === cell.trim().toLowerCase());
    if (name === undefined)
      throw new BillError(`Line 1: "${cleanName(cell)}" is not one of the columns ${columns.join(', ')}.`);
    if (places.has(name)) throw new BillError(`Line 1: the column ${name} occurs twice.`);
    places.set(name, place);
  });
  for (const name of ['day', 'amount'] as const)
    if (!places.has(name)) throw new BillError(`Line 1: the column ${name} is missing.`);
  return places;
}

function readRow(
  cells: readonly string[],
  places: ReadonlyMap<ColumnName, number>,
  lineNumber: number,
): DatedLine {
  const fail = (what: string) => new BillError(`Line ${lineNumber}: ${what}`);
  const cell = (name: ColumnName) => cells[places.get(name) ?? -1]?.trim() ?? '';
  if (cells.length !== places.size) throw fail(`it has ${cells.length} cells instead of ${places.size}.`);
  const day = cell('day');
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day) || parseTime(day) === null)
    throw fail('the day must be a date such as 2027-01-31.');
  const amount = readAmount(cell('amount'), 'dollars');
  if (amount === null) throw fail('the amount must be a decimal such as 12.50, without a currency sign.');
  const currency = cell('currency');
  if (currency !== '' && currency.toUpperCase() !== 'USD')
    throw fail('the currency is not USD. Convert the amounts first, at the rate of your invoice.');
  const model = cell('model');
  const line: BillLine = {
    name: model === '' ? 'not by model' : cleanName(model),
    isModel: model !== '',
    meter: cleanText(cell('meter')),
    amount,
    listAmount: null,
    quantity: cleanText(cell('quantity')),
  };
  return { day, line };
}

type Row = Readonly<{ cells: readonly string[]; lineNumber: number }>;

/** Cells may be quoted, with a quote doubled, and then hold commas and line breaks. Empty lines are left out. */
export function readCsv(text: string): Row[] {
  const rows: Row[] = [];
  let cells: string[] = [];
  let lineNumber = 1;
  let startedAt = 1;
  const cellPattern = /(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n]*))(,|\r?\n|$)/y;
  while (cellPattern.lastIndex < text.length) {
    const match = cellPattern.exec(text);
    if (match === null)
      throw new BillError(`Line ${lineNumber}: a quote is not closed, or is in the wrong place.`);
    const [whole, quoted, plain = '', end] = match;
    cells.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    lineNumber += whole.split('\n').length - 1;
    const isLast = end === ',' && cellPattern.lastIndex >= text.length;
    if (isLast) cells.push('');
    if (end === ',' && !isLast) continue;
    if (cells.length > 1 || cells[0] !== '') rows.push({ cells, lineNumber: startedAt });
    cells = [];
    startedAt = lineNumber;
  }
  return rows;
}
