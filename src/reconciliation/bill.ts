/** What a provider says it billed, by UTC day. */
import type { Money } from '../lib/money.ts';
import { OperatorError } from '../lib/operator-error.ts';

/** The reports of vendors, and files. */
export type BillSource = 'costs' | 'analytics' | 'cost_report' | 'file';

export type BillLine = Readonly<{
  /** As the bill names it: a model, or something else such as web search. */
  name: string;
  /** Whether the name is that of a model. What is not may still be one that nobody could recognise. */
  isModel: boolean;
  /** What was counted, by the provider's name for it; null when the bill does not say. */
  meter: string | null;
  amount: Money;
  /** Before discounts; null when the bill does not say. */
  listAmount: Money | null;
  /** As written. */
  quantity: string | null;
}>;

/** A day without lines was billed with nothing. A day that was not read is not part of a bill at all. */
export type BillDays = ReadonlyMap<string, readonly BillLine[]>;

export type Bill = Readonly<{
  source: BillSource;
  days: BillDays;
  /** Up to when the provider says that the figures are complete; null when it does not say. */
  refreshedAt: Date | null;
  /** What was odd about the report, in words for the operator. */
  notes: readonly string[];
}>;

export type DatedLine = Readonly<{ day: string; line: BillLine }>;

/** What one page of a report adds. `days` are those that it covers, whether they cost anything or not. */
export type BillPage = Readonly<{
  days: readonly string[];
  lines: readonly DatedLine[];
  next: string | null;
  refreshedAt: Date | null;
  notes: readonly string[];
}>;

/** Why a bill could not be read, in words for the operator. */
export class BillError extends OperatorError {
  override readonly name = 'BillError';
  /** Of the provider's answer; null when there was none, or when the status was not the problem. */
  readonly status: number | null;

  constructor(message: string, status: number | null = null) {
    super(message);
    this.status = status;
  }
}

const maxNameLength = 200;
/** Of a text that may have megabytes. */
const maxReadLength = 1_000;

/** A name from a bill, short enough to store, without what would move a cursor, and without halves of characters. */
export function cleanName(text: string): string {
  return cleanText(text) ?? 'unnamed';
}

/** The same for what may be left out. */
export function cleanText(text: string | null): string | null {
  const clean = (text ?? '')
    .slice(0, maxReadLength)
    .replace(/[\p{Cc}\p{Cf}]/gu, ' ')
    .trim();
  // The database takes no half of a character, and this may cut one in two.
  return clean.slice(0, maxNameLength).toWellFormed() || null;
}

/** No provider has nearly as many models and meters. All of them are stored, and shown on one page. */
const maxLinesPerDay = 5_000;

/** The days in their order, the lines of each merged. */
export function linesByDay(lines: readonly DatedLine[]): ReadonlyMap<string, readonly BillLine[]> {
  const days = [...Map.groupBy(lines, ({ day }) => day)].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return new Map(days.map(([day, ofDay]) => [day, mergeLines(ofDay.map(({ line }) => line))]));
}

/** Lines of the same name and meter, such as those of several projects, as one, in the order of their names. */
export function mergeLines(lines: readonly BillLine[]): BillLine[] {
  const merged = new Map<string, BillLine>();
  for (const line of lines) {
    const key = JSON.stringify([line.name, line.isModel, line.meter]);
    const before = merged.get(key);
    merged.set(key, before === undefined ? line : together(before, line));
  }
  if (merged.size > maxLinesPerDay)
    throw new BillError(`A day of the bill has more than ${maxLinesPerDay} different lines.`);
  return [...merged.entries()].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, line]) => line);
}

function together(one: BillLine, other: BillLine): BillLine {
  const hasList = one.listAmount !== null || other.listAmount !== null;
  return {
    ...one,
    amount: one.amount + other.amount,
    listAmount: hasList ? listAmountOf(one) + listAmountOf(other) : null,
    quantity: addWhole(one.quantity, other.quantity),
  };
}

/** Without a list price, nothing was discounted. */
export function listAmountOf({ amount, listAmount }: BillLine): Money {
  return listAmount ?? amount;
}

function addWhole(one: string | null, other: string | null): string | null {
  if (one === null || other === null || !/^\d{1,18}$/.test(one) || !/^\d{1,18}$/.test(other)) return null;
  return `${BigInt(one) + BigInt(other)}`;
}

export function sumOf(lines: readonly BillLine[]): Money {
  return lines.reduce((sum, { amount }) => sum + amount, 0n);
}
