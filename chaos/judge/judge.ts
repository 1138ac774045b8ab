/**
 * What must be true after any mix of load and kills, each as a pure question to the three logs. Violations are listed by
 * request ID, so that they can be followed through the logs.
 */

import type { Seen } from '../trials/client-call.ts';
import type { ProviderCall } from '../world/upstream.ts';
import { dueFor, isPaid, isSameUsage } from './billing.ts';
import { judgeCharges } from './charge-truths.ts';
import { judgeEvents } from './event-truths.ts';
import { type Evidence, isRefused } from './evidence.ts';
import { judgeExports } from './export-truths.ts';
import { judgeGrants } from './grant-truths.ts';
import { judgeHolds } from './hold-truths.ts';
import type { RecordedGeneration } from './ledger-log.ts';
import { judgeLimits } from './limit-truths.ts';
import { mayBeLost } from './lost-holds.ts';
import { judgeMeters } from './meter-truths.ts';
import { judgeMovements } from './movement-truths.ts';
import { judgePayments } from './payment-truths.ts';
import { checkEach, describe, summary, type Truth } from './truth.ts';
import { whyUnheld } from './unheld-calls.ts';

export function judge(evidence: Evidence): Truth[] {
  return [
    ...judgeBooks(evidence),
    ...judgeMoments(evidence),
    ...judgeCharges(evidence),
    ...judgeMeters(evidence),
    ...judgeClients(evidence),
    ...judgeHolds(evidence),
    ...judgeGenerations(evidence),
    ...judgeMovements(evidence),
    ...judgeLimits(evidence),
    ...judgeExports(evidence),
    ...judgeEvents(evidence),
    ...judgePayments(evidence),
    ...judgeGrants(evidence),
  ];
}

function judgeBooks({ ledger }: Evidence): Truth[] {
  return [
    summary('the ledger’s entries sum to the balances', ledger.accounts, ledger.unequalAccounts),
    summary('nothing is left open or held', ledger.generations.size, ledger.openGenerations + ledger.holders),
    summary('no monthly limit was exceeded', ledger.limitedKeys, ledger.exceededLimits),
  ];
}

function judgeMoments({ watched }: Evidence): Truth[] {
  const { samples } = watched;
  return [
    summary('at every look: 0 ≤ held ≤ balance', samples, watched.uncoveredHolds),
    summary('at every look: held equals the open holds', samples, watched.unmatchedHolds),
    summary('at every look: the last entry carries the balance', samples, watched.unmatchedBalances),
    summary('at every look: spent plus held within each monthly limit', samples, watched.exceededLimits),
  ];
}

function judgeClients(evidence: Evidence): Truth[] {
  const { seen, ledger } = evidence;
  const successes = seen.filter(({ outcome }) => outcome === 'success');
  const failures = seen.filter(({ outcome }) => outcome === 'error');
  const told = seen.filter(({ usage }) => usage !== null);
  const recorded = (line: Seen) => ledger.generations.get(line.requestId ?? '');
  return [
    checkEach('no client saw success without a committed charge', successes, (line) => {
      const generation = recorded(line);
      const isGood = generation?.status === 'completed' && isPaid(generation);
      return isGood ? null : describeSeen(line, generation);
    }),
    checkEach(
      'no client that was told of a failure was charged, except for what it had already received',
      failures,
      (line) => {
        const generation = recorded(line);
        const isGood =
          generation === undefined || !isPaid(generation) || isChargedRightly(evidence, line, generation);
        return isGood ? null : describeSeen(line, generation);
      },
    ),
    checkEach('the usage reported to a client is the usage that was billed', told, (line) => {
      const generation = recorded(line);
      const isSame = line.usage !== null && generation !== undefined && isSameUsage(line.usage, generation);
      return isSame ? null : describeSeen(line, generation);
    }),
    checkEach('no client got any part of another’s answer', seen, (line) =>
      line.isOwnAnswer ? null : describeSeen(line, recorded(line)),
    ),
    checkEach('every request ended', seen, (line) =>
      line.outcome === 'unanswered' ? describeSeen(line, recorded(line)) : null,
    ),
  ];
}

/** What was delivered is charged, even if the stream then told the client of a failure. */
function isChargedRightly(evidence: Evidence, line: Seen, generation: RecordedGeneration): boolean {
  const isInStream = line.streaming && line.status === 200;
  if (!isInStream) return false;
  switch (line.code) {
    // The charge came later, or fell short. An earlier failure was reported first.
    case 'billing_temporarily_unavailable':
      return generation.isEstimated || dueFor(evidence, generation) !== null;
    case 'insufficient_balance':
      return generation.errorCode === line.code && generation.writeOff?.reason === line.code;
    // What the provider went on to send was read for its usage, and not forwarded.
    case 'repeated_streaming_chunk_limit':
    case 'malformed_stream_chunk':
      return (
        generation.errorCode === line.code &&
        (generation.isEstimated || dueFor(evidence, generation) !== null)
      );
    // The gateway ended the call itself.
    case 'provider_timeout':
      return generation.errorCode === line.code && generation.isEstimated;
    default:
      return false;
  }
}

function judgeGenerations(evidence: Evidence): Truth[] {
  const { seen, calls, ledger } = evidence;
  const admitted = seen.filter((line) => line.requestId !== null && !isRefused(line));
  const called = [...calls.keys()];
  const made = [...calls.values()].flat();
  const generations = [...ledger.generations.values()];
  const isUnheld = (requestId: string) =>
    !ledger.generations.has(requestId) && whyUnheld(evidence, requestId) !== null;
  return [
    checkEach('every request that was admitted has a final Generation', admitted, (line) => {
      const isRight =
        ledger.generations.has(line.requestId ?? '') ||
        (line.outcome !== 'success' && mayBeLost(evidence, line.requestId ?? '', line));
      return isRight ? null : describeSeen(line, undefined);
    }),
    checkEach('no provider was called without an attempt on record', made, ({ requestId, provider }) => {
      if (isUnheld(requestId)) return null;
      const attempts = ledger.generations.get(requestId)?.attempts ?? [];
      return attempts.some((attempt) => attempt.provider === provider) ? null : `${requestId} ${provider}`;
    }),
    checkEach('no provider was called twice for one request', called, (requestId) => {
      const providers = calls.get(requestId)?.map(({ provider }) => provider) ?? [];
      // A call that counted on a larger hold was cancelled, and made again unless the client had left.
      const mayBeRepeated = ledger.cancelledCalls.get(requestId)?.reason === 'smaller_hold';
      return providers.length - new Set(providers).size <= (mayBeRepeated ? 1 : 0) ? null : requestId;
    }),
    checkEach('another provider was called only after one had failed', generations, (generation) => {
      const earlier = generation.attempts.slice(0, -1);
      const isRight =
        generation.isFallback === earlier.length > 0 && earlier.every(({ status }) => status === 'failed');
      return isRight ? null : describe(generation);
    }),
    {
      says: 'no client’s request was executed twice',
      checked: made.length,
      wrong: carriedOutTwice(made),
    },
  ];
}

/** The token is in the message, so a request that was resent without the client's knowledge shows under two IDs. */
function carriedOutTwice(made: readonly ProviderCall[]): string[] {
  const known = new Map<string, string>();
  const twice = new Set<string>();
  for (const { token, requestId } of made) {
    if (token === null) continue;
    if ((known.get(token) ?? requestId) !== requestId) twice.add(token);
    known.set(token, requestId);
  }
  return [...twice];
}

function describeSeen(line: Seen, generation: RecordedGeneration | undefined): string {
  const saw = [line.outcome, line.status, line.code].filter((part) => part !== null).join(' ');
  return `${line.token} (${line.kind}${line.streaming ? ', stream' : ''}) saw ${saw}; ${generation ? describe(generation) : `no Generation ${line.requestId ?? ''}`}`;
}
