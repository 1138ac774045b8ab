/** What may explain a difference between a bill and the metered cost. Pure. */
import { type Money, sizeOf } from '../lib/money.ts';
import type { Candidate, CandidateKind, ComparedDay } from './compared.ts';
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
export function candidatesFor(given: Circumstances): Candidate[] {
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
    ...(isPreliminary ? [candidate('preliminary', {})] : []),
  ];
}

function candidate(kind: CandidateKind, figures: Partial<Omit<Candidate, 'kind'>>): Candidate {
  return { kind, count: null, amount: null, day: null, names: [], ...figures };
}

function withoutUsage({ uncharged }: Circumstances): Candidate[] {
  const models = uncharged.filter(({ attemptsWithoutUsage: count }) => count > 0);
  const count = models.reduce((sum, { attemptsWithoutUsage }) => sum + attemptsWithoutUsage, 0);
  return count === 0 ? [] : [candidate('attempts_without_usage', { count, names: namesOf(models) })];
}

function withoutCost({ served, uncharged }: Circumstances): Candidate[] {
  const counts = [
    ...served.map(({ model, requestsWithoutCost: count }) => ({ model, count })),
    ...uncharged.map(({ model, attemptsWithoutCost: count }) => ({ model, count })),
  ].filter(({ count }) => count > 0);
  const count = counts.reduce((sum, one) => sum + one.count, 0);
  return count === 0 ? [] : [candidate('without_cost', { count, names: namesOf(counts) })];
}

function namesOf(models: readonly Readonly<{ model: string }>[]): string[] {
  return [...new Set(models.map(({ model }) => model))].toSorted().slice(0, maxNames);
}

function unknownNames({ models }: Circumstances, kind: 'not_mapped' | 'not_a_model'): Candidate[] {
  const unknown = models.filter((model) => model.kind === kind && model.billed !== 0n);
  if (unknown.length === 0) return [];
  const amount = unknown.reduce((sum, { billed }) => sum + billed, 0n);
  return [candidate(kind, { amount, names: unknown.map(({ name }) => name).slice(0, maxNames) })];
}

function listPrice({ listTotal, metered, tolerance }: Circumstances): Candidate[] {
  if (listTotal === null || sizeOf(listTotal - metered) > tolerance) return [];
  return [candidate('list_price', { amount: listTotal })];
}

/**
 * Requests that ran at midnight: this gateway books them by their settlement, the provider perhaps by their start. With
 * its neighbour, such a day is even.
 */
function acrossMidnight(given: Circumstances, difference: Money): Candidate[] {
  const { dayBefore, dayAfter, tolerance, served, settledNextDay } = given;
  const late = [...served, ...settledNextDay];
  const count = late.reduce((sum, { lateRequests }) => sum + lateRequests, 0);
  const amount = late.reduce((sum, { lateCost }) => sum + lateCost, 0n);
  const evenWith = [dayBefore, dayAfter].find(
    (other) => other.difference !== null && sizeOf(difference + other.difference) <= tolerance,
  );
  if (count === 0 && evenWith === undefined) return [];
  return [candidate('across_midnight', { count, amount, day: evenWith?.day ?? null })];
}
