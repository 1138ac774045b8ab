/** What may explain a difference between a bill and the metered cost. Pure. */
import { type Money, sizeOf } from '../lib/money.ts';
import type { ComparedDay, Explanation, ExplanationKind } from './compared.ts';
import type { MeteredModel, UnchargedModel } from './metered.ts';

type Neighbour = Readonly<{ day: string; difference: Money | null }>;

type Circumstances = Pick<
  ComparedDay,
  'metered' | 'difference' | 'isWithin' | 'tolerance' | 'isPreliminary' | 'models'
> &
  Readonly<{
    served: readonly MeteredModel[];
    settledNextDay: readonly MeteredModel[];
    uncharged: readonly UnchargedModel[];
    listTotal: Money | null;
    dayBefore: Neighbour;
    dayAfter: Neighbour;
  }>;

const maxNames = 20;

/** Only for a day that is outside the tolerance. The likeliest first. */
export function explanationsFor(given: Circumstances): Explanation[] {
  const { difference, isWithin, isPreliminary } = given;
  if (difference === null || isWithin === true) return [];
  return [
    // These explain only why the provider billed more.
    ...(difference > 0n
      ? [
          ...withoutUsage(given),
          ...withoutCost(given),
          ...unknownNames(given, 'not_mapped'),
          ...unknownNames(given, 'not_a_model'),
        ]
      : listPrice(given)),
    ...acrossMidnight(given, difference),
    ...(isPreliminary ? [explanation('preliminary', {})] : []),
  ];
}

function explanation(kind: ExplanationKind, figures: Partial<Omit<Explanation, 'kind'>>): Explanation {
  return { kind, count: null, amount: null, day: null, names: [], ...figures };
}

function withoutUsage({ uncharged }: Circumstances): Explanation[] {
  const models = uncharged.filter(({ attemptsWithoutUsage: count }) => count > 0);
  const count = models.reduce((sum, { attemptsWithoutUsage }) => sum + attemptsWithoutUsage, 0);
  return count === 0 ? [] : [explanation('attempts_without_usage', { count, names: namesOf(models) })];
}

function withoutCost({ served, uncharged }: Circumstances): Explanation[] {
  const counts = [
    ...served.map(({ model, requestsWithoutCost: count }) => ({ model, count })),
    ...uncharged.map(({ model, attemptsWithoutCost: count }) => ({ model, count })),
  ].filter(({ count }) => count > 0);
  const count = counts.reduce((sum, one) => sum + one.count, 0);
  return count === 0 ? [] : [explanation('without_cost', { count, names: namesOf(counts) })];
}

function namesOf(models: readonly Readonly<{ model: string }>[]): string[] {
  return [...new Set(models.map(({ model }) => model))].toSorted().slice(0, maxNames);
}

function unknownNames({ models }: Circumstances, kind: 'not_mapped' | 'not_a_model'): Explanation[] {
  const unknown = models.filter((model) => model.kind === kind && model.billed !== 0n);
  if (unknown.length === 0) return [];
  const amount = unknown.reduce((sum, { billed }) => sum + billed, 0n);
  return [explanation(kind, { amount, names: unknown.map(({ name }) => name).slice(0, maxNames) })];
}

function listPrice({ listTotal, metered, tolerance }: Circumstances): Explanation[] {
  if (listTotal === null || sizeOf(listTotal - metered) > tolerance) return [];
  return [explanation('list_price', { amount: listTotal })];
}

/**
 * Requests that ran at midnight: this gateway books them by their settlement, the provider perhaps by their start. With
 * its neighbour, such a day is even.
 */
function acrossMidnight(given: Circumstances, difference: Money): Explanation[] {
  const { dayBefore, dayAfter, tolerance, served, settledNextDay } = given;
  const late = [...served, ...settledNextDay];
  const count = late.reduce((sum, { lateRequests }) => sum + lateRequests, 0);
  const amount = late.reduce((sum, { lateCost }) => sum + lateCost, 0n);
  const evenWith = [dayBefore, dayAfter].find(
    (other) => other.difference !== null && sizeOf(difference + other.difference) <= tolerance,
  );
  if (count === 0 && evenWith === undefined) return [];
  return [explanation('across_midnight', { count, amount, day: evenWith?.day ?? null })];
}
