/** What must be true of every meter, of what providers ask, and of what is added up from them. */
import { formatMoney } from '../../src/lib/money.ts';
import { readingsOf } from '../world/bounds.ts';
import { costOf, costsOf, fullInputPrice } from '../world/catalog.ts';
import type { ProviderCall, Usage } from '../world/upstream.ts';
import { dueFor, isPaid, keptCharge } from './billing.ts';
import type { Evidence } from './evidence.ts';
import type { DaySums, RecordedGeneration, UnchargedCall } from './ledger-log.ts';
import { checkEach, describe, type Truth } from './truth.ts';

export function judgeMeters(evidence: Evidence): Truth[] {
  const all = [...evidence.ledger.generations.values()];
  const paid = all.filter(isPaid);
  const reported = paid.filter(({ isEstimated }) => !isEstimated);
  const whole = reported.filter(({ errorCode }) => errorCode !== 'insufficient_balance');
  return [
    checkEach('each meter of a charge costs its tokens times its price', whole, (generation) =>
      hasRightMeters(evidence, generation) ? null : describe(generation),
    ),
    checkEach(
      'each usage record has the meters of its Generation, and what its provider asks',
      paid,
      (generation) => (hasRightRecord(evidence, generation) ? null : describe(generation)),
    ),
    {
      ...checkEach(
        'what nobody was charged for is on record as the provider logged it, and never next to its charge',
        all.flatMap((generation) => generation.uncharged.map((call) => ({ generation, call }))),
        ({ generation, call }) =>
          isRightlyUncharged(evidence, generation, call)
            ? null
            : `${describe(generation)}, over ${call.provider}`,
      ),
      mayBeUntested: true,
    },
    {
      ...checkEach(
        'what a cancelled early call used is on record as the provider logged it, or as unknown',
        [...evidence.ledger.cancelledCalls],
        ([requestId, cancelled]) => {
          const made = evidence.calls.get(requestId) ?? [];
          // The network may have lost the call.
          const isRight =
            cancelled.usage === null
              ? cancelled.cost === null
              : made.some((call) => call.provider === cancelled.provider && isOnRecord(cancelled, call));
          return isRight ? null : `${requestId}, ${cancelled.reason}`;
        },
      ),
      mayBeUntested: true,
    },
    {
      says: 'usage and margins by day add up to the usage records',
      checked: paid.length,
      wrong: differences(evidence.ledger.days, sumsOf(paid)),
    },
  ];
}

function hasRightMeters(evidence: Evidence, generation: RecordedGeneration): boolean {
  const due = dueFor(evidence, generation);
  // Another truth is about charges without usage.
  if (due === null) return true;
  const { fresh, read, written } = costsOf(due.usage);
  const { cached, costInput } = generation;
  return (
    costInput === fresh + read + written &&
    (cached === null || (cached.costRead === read && cached.costWritten === written))
  );
}

/** For an estimate nobody knows what the provider asks. */
function hasRightRecord(evidence: Evidence, generation: RecordedGeneration): boolean {
  const { record, cached, costInput, inputTokens, provider } = generation;
  if (record === null) return false;
  const due = generation.isEstimated ? null : dueFor(evidence, generation);
  const isShort = generation.errorCode === 'insufficient_balance';
  const full = fullInputPrice({ inputTokens: inputTokens ?? 0, outputTokens: 0 });
  return (
    record.readTokens === (cached?.readTokens ?? null) &&
    record.writtenTokens === (cached?.writtenTokens ?? null) &&
    // A charge that was cut short says nothing about what the cache saved.
    (isShort || record.saved === (cached === null ? null : full - (costInput ?? 0n))) &&
    record.provider === provider &&
    record.providerCost === (due === null ? null : costOf(provider, due.reported))
  );
}

function isRightlyUncharged(
  { calls }: Evidence,
  generation: RecordedGeneration,
  uncharged: UnchargedCall,
): boolean {
  const { provider } = uncharged;
  if (isPaid(generation) && provider === generation.provider) return false;
  const call = calls.get(generation.requestId)?.find((each) => each.provider === provider);
  return isOnRecord(uncharged, call ?? { usage: null });
}

/** Whether a record has what the provider logged, or says that it is unknown. */
function isOnRecord(
  { provider, usage, cost }: UnchargedCall,
  { usage: logged }: Pick<ProviderCall, 'usage'>,
): boolean {
  if (usage === null) return cost === null;
  return logged !== null && isSame(readingsOf(logged)[0], usage) && cost === costOf(provider, usage);
}

function isSame(one: Usage, other: Usage): boolean {
  return (
    one.inputTokens === other.inputTokens &&
    one.outputTokens === other.outputTokens &&
    (one.readTokens ?? 0) === (other.readTokens ?? 0) &&
    (one.writtenTokens ?? 0) === (other.writtenTokens ?? 0)
  );
}

/**
 * A refund of the gateway takes back all of a charge, so only what is paid counts. One by hand takes back money, and the
 * usage stays.
 */
function sumsOf(paid: readonly RecordedGeneration[]): DaySums {
  const count = (of: (generation: RecordedGeneration) => number) =>
    paid.reduce((sum, generation) => sum + of(generation), 0);
  const amount = (of: (generation: RecordedGeneration) => bigint) =>
    paid.reduce((sum, generation) => sum + of(generation), 0n);
  return {
    requests: paid.length,
    readTokens: count(({ record }) => record?.readTokens ?? 0),
    writtenTokens: count(({ record }) => record?.writtenTokens ?? 0),
    saved: amount(({ record }) => record?.saved ?? 0n),
    marginRequests: paid.length,
    revenue: amount(keptCharge),
    cost: amount(({ record }) => record?.providerCost ?? 0n),
    unpricedRequests: count(({ record }) => (record?.providerCost == null ? 1 : 0)),
  };
}

function differences(days: DaySums, expected: DaySums): string[] {
  return Object.entries(expected).flatMap(([name, value]) => {
    const found = days[name as keyof DaySums];
    return found === value ? [] : [`${name}: ${shown(found)} instead of ${shown(value)}`];
  });
}

const shown = (value: number | bigint) => (typeof value === 'bigint' ? formatMoney(value) : `${value}`);
