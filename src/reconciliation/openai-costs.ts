/** OpenAI's report of costs: buckets of one day, amounts in dollars, and models only within the text of a line item. */
import { isObject, objectAt } from '../providers/wire.ts';
import { addDays } from '../usage/days.ts';
import { type BillLine, type BillPage, cleanName, cleanText } from './bill.ts';
import type { Report, ReportQuery } from './report.ts';
import { amountAt, dayAt, listAt, nextPage, requireDollars, textAt, unreadable } from './report-fields.ts';

const daysPerPage = '180';

export const openaiCosts: Report = {
  source: 'costs',
  maxDays: 366,
  request: ({ origin, key, from, to, filters }, cursor) => {
    const url = new URL('/v1/organization/costs', origin);
    const query = url.searchParams;
    query.set('start_time', secondsOf(from));
    query.set('end_time', secondsOf(addDays(to, 1)));
    query.set('bucket_width', '1d');
    query.set('limit', daysPerPage);
    query.append('group_by[]', 'line_item');
    for (const id of filters.projectIds) query.append('project_ids[]', id);
    for (const id of filters.apiKeyIds) query.append('api_key_ids[]', id);
    if (cursor !== null) query.set('page', cursor);
    return { url, headers: { authorization: `Bearer ${key}` } };
  },
  readPage,
};

function secondsOf(day: ReportQuery['from']): string {
  return `${Date.parse(day) / 1000}`;
}

function readPage(page: unknown): BillPage {
  const notes: string[] = [];
  const buckets = listAt(page, 'data').map((bucket) => {
    const day = dayAt(timeOf(textAt(bucket, 'start_time')));
    return { day, lines: listAt(bucket, 'results').map((result) => readResult(result, day, notes)) };
  });
  return {
    days: buckets.map(({ day }) => day),
    lines: buckets.flatMap(({ day, lines }) => lines.map((line) => ({ day, line }))),
    next: nextPage(page),
    refreshedAt: null,
    notes,
  };
}

function timeOf(seconds: string | null): string | null {
  if (seconds === null || !/^\d{1,11}$/.test(seconds)) return null;
  const startMs = Number(seconds) * 1000;
  return new Date(startMs).toISOString();
}

function readResult(result: unknown, day: string, notes: string[]): BillLine {
  if (!isObject(result)) throw unreadable('a result is not an object');
  const name = cleanName(textAt(result, 'line_item') ?? '');
  const amount = objectAt(result, 'amount');
  if (amount === null && (result.amount ?? null) !== null) throw unreadable('"amount" is not an amount');
  if (amount === null) notes.push(`${day}: "${name}" has no amount, which counts as zero.`);
  else requireDollars(amount.currency);
  return {
    ...readLineItem(name),
    amount: amount === null ? 0n : amountAt(amount, 'value', 'dollars'),
    listAmount: null,
    quantity: cleanText(textAt(result, 'quantity')),
  };
}

/** `gpt-6-astra, input_tokens`. What has no comma is no model. */
export function readLineItem(text: string): Pick<BillLine, 'name' | 'isModel' | 'meter'> {
  const comma = text.lastIndexOf(', ');
  return comma <= 0
    ? { name: text, isModel: false, meter: null }
    : { name: text.slice(0, comma), isModel: true, meter: text.slice(comma + 2) };
}
