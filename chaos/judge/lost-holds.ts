/**
 * A hold does not wait for the disk, so a crash of the database may lose it. The gateway still settles the request; only
 * if the gateway dies too, no trace of it is left. Nobody is charged for it, and no client got its whole answer.
 */
import { type Asked, askedFor, type Evidence } from './evidence.ts';

/** A hold that takes four seconds fails, and the database flushes its commits several times a second. */
const lostWithinMs = 10_000;
/** What a killed gateway had open is resolved within this time, or something else is wrong. */
const givenUpWithinMs = 120_000;

type Sent = Pick<Asked, 'node' | 'startedAtMs'>;

/** Whether the gateway that got the request was killed afterwards. */
export function wasKilled({ kills }: Evidence, { node, startedAtMs }: Sent): boolean {
  return kills.some(
    (kill) => kill.node === node && kill.atMs >= startedAtMs && kill.atMs < startedAtMs + givenUpWithinMs,
  );
}

export function mayBeLost(evidence: Evidence, sent: Sent): boolean {
  const { startedAtMs } = sent;
  return (
    wasKilled(evidence, sent) &&
    evidence.databaseKills.some((atMs) => atMs >= startedAtMs && atMs < startedAtMs + lostWithinMs)
  );
}

/** A hold that is not committed within this time has failed, and its call is cancelled. */
const uncommittedWithinMs = 5_000;
/** While the database is away, a cancelled call is known to its gateway only. */
const awayMs = 15_000;

/**
 * Whether a call to a provider ran without a hold: it started early, and was cancelled, or its gateway was killed before the
 * hold was committed, or before it could record the cancelled call.
 */
export function ranWithoutHold(evidence: Evidence, requestId: string): boolean {
  const { calls, ledger, kills, databaseKills } = evidence;
  // A second call always comes after the hold.
  if (ledger.generations.has(requestId) || calls.get(requestId)?.length !== 1) return false;
  if (ledger.cancelledCalls.has(requestId)) return true;
  const asked = askedFor(evidence, requestId);
  if (asked === null) return false;
  const { node, startedAtMs } = asked;
  const isAway = databaseKills.some((atMs) => Math.abs(atMs - startedAtMs) < awayMs);
  const withinMs = isAway ? 2 * awayMs : uncommittedWithinMs;
  return kills.some(
    (kill) => kill.node === node && kill.atMs >= startedAtMs && kill.atMs < startedAtMs + withinMs,
  );
}

/** The calls that ran without a hold, each with the reason. */
export function callsWithoutHold(evidence: Evidence): string[] {
  return [...evidence.calls.keys()].flatMap((requestId) => {
    if (!ranWithoutHold(evidence, requestId)) return [];
    const cancelled = evidence.ledger.cancelledCalls.get(requestId);
    return `${requestId}: ${cancelled === undefined ? 'the gateway was killed' : cancelled.reason}`;
  });
}

/** The requests that reached a provider and left no trace in the ledger, each with the kills that explain it. */
export function lostRequests(evidence: Evidence): string[] {
  return [...evidence.calls.keys()].flatMap((requestId) => {
    const asked = askedFor(evidence, requestId);
    const { generations, cancelledCalls } = evidence.ledger;
    if (generations.has(requestId) || cancelledCalls.has(requestId)) return [];
    if (asked === null || !mayBeLost(evidence, asked)) return [];
    const after = (atMs: number) => `${atMs - asked.startedAtMs} ms`;
    const gateway = evidence.kills.find(({ node, atMs }) => node === asked.node && atMs >= asked.startedAtMs);
    const database = evidence.databaseKills.find((atMs) => atMs >= asked.startedAtMs);
    return `${requestId}: database killed after ${after(database ?? 0)}, gateway ${asked.node} after ${after(gateway?.atMs ?? 0)}`;
  });
}
