/**
 * A call may begin before its hold is committed, but its client gets nothing before that. When a client got its first byte,
 * its own log says; when the provider was called, the provider's; when the hold was committed, PostgreSQL.
 */
import { holdPatienceMs } from '../../src/ledger/holding.ts';
import type { Seen } from '../trials/client-call.ts';
import { readingsOf } from '../world/bounds.ts';
import { priceOf } from '../world/catalog.ts';
import { askedFor, type Evidence, isRefused } from './evidence.ts';
import { crashAfterHold, wasKilled } from './lost-holds.ts';
import { checkEach, type Truth } from './truth.ts';

/** The clients' and the provider's times are whole milliseconds, rounded down. */
const roundedMs = 1;
/** A killed gateway gives up no hold later than this, counted from its call. The rest is for a slow machine. */
const pendingWithinMs = holdPatienceMs + 1_000;

/** What a client is told when its hold is denied, or fails. */
const ungranted: ReadonlyMap<string, string> = new Map([
  ['insufficient_balance', 'denied'],
  ['monthly_spend_limit_exceeded', 'denied'],
  ['rate_limit_exceeded', 'denied'],
  ['balance_lookup_failed', 'failed'],
  ['monthly_spend_lookup_failed', 'failed'],
]);

export function judgeHolds(evidence: Evidence): Truth[] {
  const delivered = evidence.seen.filter((line) => line.requestId !== null && !isRefused(line));
  return [
    checkEach('no client received a byte of a request whose hold was not committed', delivered, (line) =>
      wrongDelivery(evidence, line),
    ),
    checkEach(
      'a provider was called without a hold only where it was denied, failed or lost',
      [...evidence.calls.keys()],
      (requestId) => {
        const isHeld = evidence.holds.has(requestId);
        // What was held is settled, or closed by another node.
        if (isHeld) return evidence.ledger.generations.has(requestId) ? null : `${requestId}: no Generation`;
        return whyUnheld(evidence, requestId) === null ? requestId : null;
      },
    ),
  ];
}

function wrongDelivery(evidence: Evidence, line: Seen): string | null {
  const { requestId, firstByteAtMs, token } = line;
  if (requestId === null || firstByteAtMs === null) return null;
  const heldAtMs = evidence.holds.get(requestId);
  if (heldAtMs === undefined) {
    const isLost = crashAfterHold(evidence, requestId, line) !== null;
    return isLost ? null : `${requestId} (${token}): nothing was ever held`;
  }
  const earlyMs = heldAtMs - firstByteAtMs;
  if (earlyMs <= roundedMs || isHeldAgain(evidence, line)) return null;
  return `${requestId} (${token}): delivered ${earlyMs.toFixed(1)} ms before its hold was committed`;
}

/** Before another provider is called, what a crash has lost is held again; the header may have been sent by then. */
function isHeldAgain(evidence: Evidence, line: Seen): boolean {
  const requestId = line.requestId ?? '';
  const isFallback = evidence.ledger.generations.get(requestId)?.isFallback ?? false;
  return isFallback && crashAfterHold(evidence, requestId, line) !== null;
}

/** Why a provider was called for a request of which PostgreSQL has no hold; null when nothing explains it. */
export function whyUnheld(evidence: Evidence, requestId: string): string | null {
  const asked = askedFor(evidence, requestId);
  if (asked === null) return null;
  const isEmpty = asked.firstByteAtMs === null;
  const crash = crashAfterHold(evidence, requestId, asked);
  const refusal = isRefused(asked) ? ungranted.get(asked.code ?? '') : undefined;
  if (refusal !== undefined) return `${refusal}: ${asked.code}`;
  if (crash !== null && evidence.ledger.generations.has(requestId))
    return 'lost in a crash of the database; the request was settled nevertheless';
  if (crash !== null && wasKilled(evidence, asked))
    return 'lost in a crash of the database, and the gateway was killed';
  if (isEmpty && wasKilledWhilePending(evidence, requestId))
    return 'the gateway was killed before it was committed';
  if (isEmpty && asked.outcome === 'aborted') return 'denied or failed after the client had left';
  return null;
}

function wasKilledWhilePending(evidence: Evidence, requestId: string): boolean {
  const asked = askedFor(evidence, requestId);
  const calledAtMs = evidence.calls.get(requestId)?.[0]?.calledAtMs ?? 0;
  return evidence.kills.some(
    ({ node, atMs }) =>
      node === asked?.node && atMs >= asked.startedAtMs && atMs < calledAtMs + pendingWithinMs,
  );
}

export type EarlyCalls = Readonly<{
  /** How many calls began before their hold was committed, and by how much at most. */
  begunEarly: number;
  longestMs: number;
  /** Calls that ran without a hold, by reason; and what the usage that the provider reported for them would have cost. */
  unheld: ReadonlyMap<string, { count: number; amount: bigint }>;
}>;

export function earlyCalls(evidence: Evidence): EarlyCalls {
  const { calls, holds } = evidence;
  let begunEarly = 0;
  let longestMs = 0;
  const unheld = new Map<string, { count: number; amount: bigint }>();
  for (const [requestId, made] of calls) {
    const heldAtMs = holds.get(requestId);
    if (heldAtMs !== undefined) {
      const waitMs = heldAtMs - Math.min(...made.map(({ calledAtMs }) => calledAtMs)) - roundedMs;
      if (waitMs > 0) begunEarly += 1;
      longestMs = Math.max(longestMs, waitMs);
      continue;
    }
    const reason = whyUnheld(evidence, requestId) ?? 'NOT ALLOWED';
    const so = unheld.get(reason) ?? { count: 0, amount: 0n };
    const amount = made.reduce(
      (sum, { usage }) => sum + (usage === null ? 0n : priceOf(readingsOf(usage)[0])),
      so.amount,
    );
    unheld.set(reason, { count: so.count + made.length, amount });
  }
  return { begunEarly, longestMs, unheld };
}
