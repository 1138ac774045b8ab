/** Compares a provider's bill with the metered cost, by day and by model. Pure. */
import { divideHalfUp, type Money, sizeOf } from '../lib/money.ts';
import type { ReportTolerance } from '../models/model.ts';
import { addDays } from '../usage/days.ts';
import { type BillLine, listAmountOf, sumOf } from './bill.ts';
import { type ComparedDay, type ComparedModel, preliminaryHours } from './compared.ts';
import { explanationsFor } from './explanations.ts';
import type { Metered, MeteredModel, UnchargedModel } from './metered.ts';
import { matchModel } from './model-names.ts';

/** What the catalogue says about the provider. */
export type ProviderNames = Readonly<{
  /** What the provider calls a model of the catalogue. */
  upstreamOf: (model: string) => string;
  /** Every name that the provider is called with. */
  upstreamModels: ReadonlySet<string>;
  /** By a name on the bill, the upstream model that the operator says it means. */
  givenNames: ReadonlyMap<string, string>;
}>;

export type BilledDay = Readonly<{ lines: readonly BillLine[]; refreshedAt: Date | null }>;

export type Comparison = Readonly<{
  days: readonly string[];
  /** Only the days that were read. */
  bills: ReadonlyMap<string, BilledDay>;
  metered: Metered;
  names: ProviderNames;
  tolerance: ReportTolerance;
  now: Date;
}>;

const preliminaryMs = preliminaryHours * 60 * 60 * 1000;
const percentUnits = 100n * 10n ** 12n;

export function compareDays(comparison: Comparison): ComparedDay[] {
  const served = byDay(comparison.metered.served);
  const uncharged = byDay(comparison.metered.uncharged);
  const sums = comparison.days.map((day) =>
    compareDay(comparison, day, served.get(day) ?? [], uncharged.get(day) ?? []),
  );
  const differences = new Map(sums.map(({ day, difference }) => [day, difference]));
  return sums.map((compared) => {
    const { day } = compared;
    return {
      ...compared,
      explanations: explanationsFor({
        ...compared,
        served: served.get(day) ?? [],
        settledNextDay: served.get(addDays(day, 1)) ?? [],
        uncharged: uncharged.get(day) ?? [],
        listTotal: listTotalOf(comparison.bills.get(day)?.lines ?? []),
        dayBefore: { day: addDays(day, -1), difference: differences.get(addDays(day, -1)) ?? null },
        dayAfter: { day: addDays(day, 1), difference: differences.get(addDays(day, 1)) ?? null },
      }),
    };
  });
}

function byDay<Row extends Readonly<{ day: string }>>(rows: readonly Row[]): Map<string, Row[]> {
  return Map.groupBy(rows, ({ day }) => day);
}

function compareDay(
  { bills, names, tolerance, now }: Comparison,
  day: string,
  served: readonly MeteredModel[],
  uncharged: readonly UnchargedModel[],
): ComparedDay {
  const bill = bills.get(day) ?? null;
  const notCharged = uncharged.reduce((sum, { cost }) => sum + cost, 0n);
  const metered = served.reduce((sum, { cost }) => sum + cost, notCharged);
  const billed = bill === null ? null : sumOf(bill.lines);
  const allowed = allowedDifference(metered, billed ?? 0n, tolerance);
  const difference = billed === null ? null : billed - metered;
  return {
    day,
    charged: served.reduce((sum, { charged }) => sum + charged, 0n),
    metered,
    uncharged: notCharged,
    billed,
    difference,
    isWithin: difference === null ? null : sizeOf(difference) <= allowed,
    tolerance: allowed,
    isPreliminary: isPreliminary(day, bill?.refreshedAt ?? null, now),
    models: bill === null ? [] : compareModels(bill.lines, served, uncharged, names, tolerance),
    explanations: [],
  };
}

/** An amount for each day, and a share of the larger side. */
export function allowedDifference(
  metered: Money,
  billed: Money,
  { amount, percent }: ReportTolerance,
): Money {
  const [one, other] = [sizeOf(metered), sizeOf(billed)];
  return amount + divideHalfUp((one > other ? one : other) * percent, percentUnits);
}

function isPreliminary(day: string, refreshedAt: Date | null, now: Date): boolean {
  const endsAtMs = Date.parse(addDays(day, 1));
  return (
    now.getTime() < endsAtMs + preliminaryMs || (refreshedAt !== null && refreshedAt.getTime() < endsAtMs)
  );
}

type Sides = { kind: ComparedModel['kind']; name: string; metered: Money; billed: Money };

/** The largest difference first. */
function compareModels(
  lines: readonly BillLine[],
  served: readonly MeteredModel[],
  uncharged: readonly UnchargedModel[],
  names: ProviderNames,
  tolerance: ReportTolerance,
): ComparedModel[] {
  const sides = new Map<string, Sides>();
  const sidesOf = (kind: Sides['kind'], name: string): Sides => {
    const key = `${kind} ${name}`;
    const found = sides.get(key) ?? { kind, name, metered: 0n, billed: 0n };
    sides.set(key, found);
    return found;
  };
  for (const { model, cost } of [...served, ...uncharged])
    sidesOf('model', names.upstreamOf(model)).metered += cost;
  // A model that has left the catalogue since is still known from what was recorded of it.
  const known = new Set([...names.upstreamModels, ...[...sides.values()].map(({ name }) => name)]);
  for (const line of lines) {
    const given = names.givenNames.get(line.name) ?? null;
    const model = given ?? (line.isModel ? matchModel(line.name, known) : null);
    const kind = model !== null ? 'model' : line.isModel ? 'not_mapped' : 'not_a_model';
    sidesOf(kind, model ?? line.name).billed += line.amount;
  }
  return [...sides.values()]
    .map(({ name, kind, metered, billed }) => {
      const difference = billed - metered;
      const isWithin = sizeOf(difference) <= allowedDifference(metered, billed, tolerance);
      return { name, kind, metered, billed, difference, isWithin };
    })
    .toSorted((one, other) => {
      const [left, right] = [sizeOf(one.difference), sizeOf(other.difference)];
      if (left !== right) return left > right ? -1 : 1;
      return one.name < other.name ? -1 : 1;
    });
}

/** Null when the bill says nothing about discounts. */
function listTotalOf(lines: readonly BillLine[]): Money | null {
  if (lines.every(({ listAmount }) => listAmount === null)) return null;
  return lines.reduce((sum, line) => sum + listAmountOf(line), 0n);
}
