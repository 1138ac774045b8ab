/**
 * Calls that began before the hold of their request was committed, and what may become of them without it. When a provider
 * was called, its own log says; when the hold was committed, PostgreSQL.
 */
import { holdPatienceMs } from '../../src/ledger/holding.ts';
import { readingsOf } from '../world/bounds.ts';
import { priceOf } from '../world/catalog.ts';
import { askedFor, type Evidence, isRefused } from './evidence.ts';
import { crashAfterHold, wasKilled } from './lost-holds.ts';

/** The clients' and the provider's times are whole milliseconds, rounded down. */
export const roundedMs = 1;
/** No hold of a gateway is pending for longer, counted from its call. The rest is for a slow machine. */
const pendingWithinMs = holdPatienceMs + 1_000;

/** What a client is told when its hold is denied, or fails. */
const refusals: ReadonlyMap<string, string> = new Map([
  ['insufficient_balance', 'denied'],
  ['monthly_spend_limit_exceeded', 'denied'],
  ['spend_limit_exceeded', 'denied'],
  ['rate_limit_exceeded', 'denied'],
  ['limits_changed', 'denied'],
  ['balance_lookup_failed', 'failed'],
  ['monthly_spend_lookup_failed', 'failed'],
]);

/** Whether the gateway must have cancelled the call, and what became of its hold. */
type Fate = Readonly<{ isCancelled: boolean; text: string }>;

const cancelled = (text: string): Fate => ({ isCancelled: true, text });
const lost = (text: string): Fate => ({ isCancelled: false, text });

/** Why a provider was called for a request of which PostgreSQL has no hold; null when nothing explains it. */
export function whyUnheld(evidence: Evidence, requestId: string): Fate | null {
  const asked = askedFor(evidence, requestId);
  if (asked === null) return null;
  const refusal = isRefused(asked) ? refusals.get(asked.code ?? '') : undefined;
  if (refusal !== undefined) return cancelled(`${refusal}: ${asked.code}`);
  const isLost = crashAfterHold(evidence, requestId, asked) !== null;
  if (isLost && evidence.ledger.generations.has(requestId))
    return lost('lost in a crash of the database; settled nevertheless');
  if (asked.firstByteAtMs === null) {
    if (wasKilledWhilePending(evidence, requestId)) return lost('not committed when the gateway was killed');
    if (asked.outcome === 'aborted') return cancelled('denied or failed after the client had left');
  }
  if (isLost && wasKilled(evidence, asked))
    return lost('lost in a crash of the database, and the gateway was killed');
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
  /** How many requests had a provider called before their hold was committed, and how long before at most. */
  begunEarly: number;
  longestMs: number;
  /** Calls that ran without a hold, by reason; and what the usage that the provider reported for them would have cost. */
  unheld: ReadonlyMap<string, { count: number; amount: bigint }>;
}>;

export function earlyCalls(evidence: Evidence): EarlyCalls {
  const { calls, holds } = evidence;
  const unheld = new Map<string, { count: number; amount: bigint }>();
  let begunEarly = 0;
  let longestMs = 0;
  for (const [requestId, made] of calls) {
    const heldAtMs = holds.get(requestId);
    if (heldAtMs !== undefined) {
      const aheadMs = heldAtMs - Math.min(...made.map(({ calledAtMs }) => calledAtMs)) - roundedMs;
      if (aheadMs > 0) begunEarly += 1;
      longestMs = Math.max(longestMs, aheadMs);
      continue;
    }
    const reason = whyUnheld(evidence, requestId)?.text ?? 'NOT ALLOWED';
    const so = unheld.get(reason) ?? { count: 0, amount: 0n };
    const amount = made.reduce(
      (sum, { usage }) => sum + (usage === null ? 0n : priceOf(readingsOf(usage)[0])),
      so.amount,
    );
    unheld.set(reason, { count: so.count + made.length, amount });
  }
  return { begunEarly, longestMs, unheld };
}
