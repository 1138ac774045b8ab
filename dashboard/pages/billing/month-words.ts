/** Months in UTC, as YYYY-MM, and how their statements speak. */
import type { MonthDetail, StatementLine } from '../../../src/console/billing-contract.ts';
import { addDays } from '../usage/range-picker.tsx';

/** `November 2026` */
export function formatMonth(month: string): string {
  return new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' }).format(
    new Date(`${month}-01T00:00:00Z`),
  );
}

/** `1 to 30 November 2026` */
export function formatPeriod(month: string): string {
  return `1 to ${Number(lastDayOf(month).slice(8))} ${formatMonth(month)}`;
}

/** The first day after the month. */
function endOf(month: string): string {
  return `${addDays(`${month}-01`, 31).slice(0, 7)}-01`;
}

function lastDayOf(month: string): string {
  return addDays(endOf(month), -1);
}

type TimeRange = Readonly<{ from: string; to: string }>;

/** For the list of requests, up to the beginning of the next one. */
export function timesOfMonth(month: string): TimeRange {
  return { from: `${month}-01T00:00:00.000Z`, to: `${endOf(month)}T00:00:00.000Z` };
}

export function timesOfDay(day: string): TimeRange {
  return { from: `${day}T00:00:00.000Z`, to: `${addDays(day, 1)}T00:00:00.000Z` };
}

const kinds: Readonly<Record<Exclude<StatementLine['kind'], 'credit'>, string>> = {
  charge: 'Requests',
  refund: 'Refunds of requests',
  correction: 'Corrections',
  expiry: 'Expired credit',
  void: 'Voided credit',
};

const credits: Readonly<Record<NonNullable<StatementLine['category']>, string>> = {
  paid: 'Credit added',
  promotional: 'Promotional credit',
  allowance: 'Allowances',
};

export function nameOfLine({ kind, category }: StatementLine): string {
  return kind === 'credit' ? credits[category ?? 'paid'] : kinds[kind];
}

/** What all requests cost. */
export function hasCharges(detail: MonthDetail): boolean {
  return detail.by_day.length > 0;
}
