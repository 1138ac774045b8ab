/** What the reports of all vendors have in common: amounts, days and the place of the next page. */
import { parseTime } from '../lib/calendar.ts';
import type { Money } from '../lib/money.ts';
import { type Fields, isObject } from '../providers/wire.ts';
import { dayOf } from '../usage/days.ts';
import { type AmountUnit, readAmount } from './amount.ts';
import { BillError } from './bill.ts';

export function unreadable(what: string): BillError {
  return new BillError(`The report could not be read: ${what}. Nothing of it was stored.`);
}

export function textAt(value: unknown, name: string): string | null {
  const inner = isObject(value) ? value[name] : null;
  return typeof inner === 'string' ? inner : null;
}

/** A list that has to be there: without it, the answer is something else than a report. */
export function listAt(value: unknown, name: string): readonly unknown[] {
  const inner = isObject(value) ? value[name] : null;
  if (!Array.isArray(inner)) throw unreadable(`it has no list "${name}"`);
  return inner;
}

/** Bills in another currency are refused: any rate would be a guess. */
export function requireDollars(currency: unknown): void {
  if (typeof currency === 'string' && currency.toLowerCase() === 'usd') return;
  throw new BillError('The bill is not in USD. Only bills in USD can be compared.');
}

/** Numbers have been read as their text, so both forms of an amount look the same here. */
export function amountAt(fields: Fields, name: string, unit: AmountUnit): Money {
  const money = readAmount(textAt(fields, name) ?? '', unit);
  if (money === null) throw unreadable(`"${name}" is not an amount`);
  return money;
}

/** The day that begins at this moment. A report by other days than those of UTC would be compared with the wrong figures. */
export function dayAt(text: string | null): string {
  const time = text === null ? null : parseTime(text);
  if (time === null || !time.toISOString().endsWith('T00:00:00.000Z'))
    throw unreadable('its days do not begin at midnight UTC');
  return dayOf(time);
}

/** It becomes part of an address, and all of them are remembered. */
const maxCursorLength = 4_096;

/** Null at the end. */
export function nextPage(page: unknown): string | null {
  if (!isObject(page) || page.has_more !== true) return null;
  const next = textAt(page, 'next_page');
  if (next === null || next === '' || next.length > maxCursorLength)
    throw unreadable('there is more, but not where');
  return next;
}
