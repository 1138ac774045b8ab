/**
 * What must be true after any mix of load and kills, each as a pure question to the three logs. Whatever is wrong is
 * named by request ID, so that it can be followed through the logs.
 */
import { formatMoney } from '../src/lib/money.ts';
import { priceOf } from './catalog.ts';
import type { Seen } from './client-call.ts';
import { type Evidence, kindOf, reportedUsage } from './evidence.ts';
import type { RecordedGeneration } from './ledger-log.ts';

export type Finding = Readonly<{ says: string; checked: number; wrong: readonly string[] }>;

/** Refused before there was a Generation, or without anyone knowing whether there is one. */
const notAdmitted = new Set([
  'rate_limit_exceeded',
  'monthly_spend_limit_exceeded',
  'insufficient_balance',
  'balance_lookup_failed',
  'internal_error',
]);

/** A stream that was delivered is charged even if the client had to be told that the charge comes later or fell short. */
const chargedAllTheSame = new Set(['billing_temporarily_unavailable', 'insufficient_balance']);

/** Why usage that a provider reported may remain without a charge. */
const excuses = new Set([
  'failed gateway_interrupted',
  'failed insufficient_balance',
  'failed billing_consistency_error',
  'cancelled',
]);

/** A stream with a broken chunk is given up there; the provider may have reported usage behind it all the same. */
const brokenStreamExcuse = 'failed malformed_stream_chunk';

export function judge(evidence: Evidence): Finding[] {
  return [
    ...judgeBooks(evidence),
    ...judgeMoments(evidence),
    ...judgeCharges(evidence),
    ...judgeClients(evidence),
    ...judgeGenerations(evidence),
  ];
}

function judgeBooks({ ledger }: Evidence): Finding[] {
  return [
    summary('the ledger’s entries sum to the balances', ledger.accounts, ledger.unequalAccounts),
    summary(
      'nothing is open and nothing is held any more',
      ledger.generations.size,
      ledger.openGenerations + ledger.holders,
    ),
    summary('no monthly limit was exceeded', ledger.limitedKeys, ledger.exceededLimits),
  ];
}

function judgeMoments({ watched }: Evidence): Finding[] {
  const { samples } = watched;
  return [
    summary('at every look: 0 ≤ held ≤ balance', samples, watched.uncoveredHolds),
    summary('at every look: held equals the open holds', samples, watched.unmatchedHolds),
    summary('at every look: the last entry carries the balance', samples, watched.unmatchedBalances),
    summary('at every look: spent plus held within each monthly limit', samples, watched.exceededLimits),
  ];
}

function judgeCharges(evidence: Evidence): Finding[] {
  const all = [...evidence.ledger.generations.values()];
  const charged = all.filter(({ charges }) => charges.length > 0);
  const used = all.filter(({ requestId }) => reportedUsage(evidence, requestId) !== null);
  return [
    {
      says: 'at most one charge per Generation, and none without one',
      checked: charged.length,
      wrong: [
        ...charged.filter(({ charges }) => charges.length > 1).map(describe),
        ...evidence.ledger.strayCharges,
      ],
    },
    find('each charge equals the price of the usage that the provider logged', charged, (generation) =>
      wrongAmount(evidence, generation),
    ),
    find('no usage, no charge', charged, (generation) =>
      reportedUsage(evidence, generation.requestId) === null ? describe(generation) : null,
    ),
    find('usage stays without a charge only for a reason that is allowed', used, (generation) =>
      generation.charges.length > 0 || isExcused(evidence, generation) ? null : describe(generation),
    ),
  ];
}

function isExcused(evidence: Evidence, generation: RecordedGeneration): boolean {
  const reason = reasonOf(generation);
  if (reason === brokenStreamExcuse) return kindOf(evidence, generation.requestId) === 'malformed';
  return excuses.has(reason);
}

/** Where a balance did not suffice, the charge and what was written off make up the price. */
function wrongAmount(evidence: Evidence, generation: RecordedGeneration): string | null {
  const usage = reportedUsage(evidence, generation.requestId);
  if (usage === null) return null;
  const price = priceOf(usage);
  const paid = sum(generation.charges) + generation.writtenOff;
  const isWhole = generation.writtenOff === 0n || generation.errorCode === 'insufficient_balance';
  const isSameUsage =
    usage.inputTokens === generation.inputTokens && usage.outputTokens === generation.outputTokens;
  if (paid === price && isWhole && isSameUsage) return null;
  return `${describe(generation)}, but its price is ${formatMoney(price)}`;
}

function judgeClients(evidence: Evidence): Finding[] {
  const { seen, ledger } = evidence;
  const successes = seen.filter(({ outcome }) => outcome === 'success');
  const failures = seen.filter(
    ({ outcome, code }) => outcome === 'error' && !chargedAllTheSame.has(code ?? ''),
  );
  const told = seen.filter(({ usage }) => usage !== null);
  const recorded = (line: Seen) => ledger.generations.get(line.requestId ?? '');
  return [
    find('no client saw success without a committed charge', successes, (line) => {
      const generation = recorded(line);
      const isGood = generation?.status === 'completed' && generation.charges.length === 1;
      return isGood ? null : describeSeen(line, generation);
    }),
    find('no client that was told of a failure was charged', failures, (line) => {
      const generation = recorded(line);
      return generation === undefined || generation.charges.length === 0
        ? null
        : describeSeen(line, generation);
    }),
    find('the usage that a client was told is the one that was billed', told, (line) => {
      const generation = recorded(line);
      const isSame =
        generation?.inputTokens === line.usage?.inputTokens &&
        generation?.outputTokens === line.usage?.outputTokens;
      return isSame ? null : describeSeen(line, generation);
    }),
    find('no client got anything of another’s answer', seen, (line) =>
      line.isOwnAnswer ? null : describeSeen(line, recorded(line)),
    ),
    find('every request came to an end', seen, (line) =>
      line.outcome === 'unanswered' ? describeSeen(line, recorded(line)) : null,
    ),
  ];
}

function judgeGenerations({ seen, calls, ledger }: Evidence): Finding[] {
  const admitted = seen.filter(
    ({ requestId, outcome, code }) =>
      requestId !== null && !(outcome === 'error' && notAdmitted.has(code ?? '')),
  );
  const called = [...calls.keys()];
  return [
    find('every request that was admitted has a final Generation', admitted, (line) =>
      ledger.generations.has(line.requestId ?? '') ? null : describeSeen(line, undefined),
    ),
    find('no provider was called without a Generation', called, (requestId) =>
      ledger.generations.has(requestId) ? null : requestId,
    ),
    find('no provider was called twice for one request', called, (requestId) =>
      calls.get(requestId)?.length === 1 ? null : requestId,
    ),
    {
      says: 'no request of a client was carried out twice',
      checked: called.length,
      wrong: carriedOutTwice(calls),
    },
  ];
}

/** The token stands in the message, so a request that was sent again behind the client's back shows as two calls. */
function carriedOutTwice(calls: Evidence['calls']): string[] {
  const known = new Set<string>();
  const twice: string[] = [];
  for (const { token } of [...calls.values()].flat()) {
    if (token === null) continue;
    if (known.has(token)) twice.push(token);
    known.add(token);
  }
  return twice;
}

/** Usage without a charge, by reason and kind of request: how many Generations and what they would have cost. */
export function unbilled(evidence: Evidence): ReadonlyMap<string, { count: number; amount: bigint }> {
  const reasons = new Map<string, { count: number; amount: bigint }>();
  for (const generation of evidence.ledger.generations.values()) {
    const usage = reportedUsage(evidence, generation.requestId);
    if (usage === null || generation.charges.length > 0) continue;
    const reason = `${reasonOf(generation)} (${kindOf(evidence, generation.requestId)})`;
    const so = reasons.get(reason) ?? { count: 0, amount: 0n };
    reasons.set(reason, { count: so.count + 1, amount: so.amount + priceOf(usage) });
  }
  return reasons;
}

export function reasonOf({ status, errorCode }: RecordedGeneration): string {
  return errorCode === null ? status : `${status} ${errorCode}`;
}

function find<Item>(says: string, items: readonly Item[], fault: (item: Item) => string | null): Finding {
  return { says, checked: items.length, wrong: items.flatMap((item) => fault(item) ?? []) };
}

function summary(says: string, checked: number, violations: number): Finding {
  return { says, checked, wrong: violations === 0 ? [] : [`${violations} times`] };
}

function describe(generation: RecordedGeneration): string {
  return `${generation.requestId} ${reasonOf(generation)}, charged ${generation.charges.map(formatMoney).join(' and ') || 'nothing'}`;
}

function describeSeen(line: Seen, generation: RecordedGeneration | undefined): string {
  const saw = [line.outcome, line.status, line.code].filter((part) => part !== null).join(' ');
  return `${line.token} (${line.kind}${line.streaming ? ', stream' : ''}) saw ${saw}; ${generation ? describe(generation) : `no Generation ${line.requestId ?? ''}`}`;
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n);
}
