/**
 * A hold does not wait for the disk, so a crash of the database may lose it. The gateway still settles the request; only
 * if the gateway dies too, no trace of it is left. Nobody is charged for it, and no client got its whole answer.
 */
import { type Asked, askedFor, type Evidence } from './evidence.ts';

/**
 * PostgreSQL flushes a commit that does not wait for the disk within three times its wal_writer_delay, which is 200 ms: no
 * crash after 0.6 s loses it. A call begins with its hold, and these runs lock no row for longer than the rest of a second.
 */
const lostWithinMs = 1_000;
/** Sessions of a server whose main process was killed commit for a moment longer. */
const outlivesMs = 50;
/** What a killed gateway had open is resolved within this time, or something else is wrong. */
const givenUpWithinMs = 120_000;

type Sent = Pick<Asked, 'node' | 'startedAtMs'>;

/** Whether the gateway that got the request was killed afterwards. */
export function wasKilled({ kills }: Evidence, { node, startedAtMs }: Sent): boolean {
  return kills.some(
    (kill) => kill.node === node && kill.atMs >= startedAtMs && kill.atMs < startedAtMs + givenUpWithinMs,
  );
}

/** When the database was killed so soon after the first call to a provider that it may have lost the hold; else null. */
export function crashAfterHold(
  { calls, outages }: Evidence,
  requestId: string,
  { startedAtMs }: Sent,
): number | null {
  const calledAtMs = Math.min(...(calls.get(requestId)?.map((call) => call.calledAtMs) ?? [startedAtMs]));
  // A call that begins while the database is away has its hold committed when that is back.
  const outage = outages.find(({ fromMs, untilMs }) => fromMs <= calledAtMs && calledAtMs < untilMs);
  const untilMs = (outage?.untilMs ?? calledAtMs) + lostWithinMs;
  const sinceMs = startedAtMs - outlivesMs;
  return outages.find(({ fromMs }) => fromMs >= sinceMs && fromMs < untilMs)?.fromMs ?? null;
}

/** Whether all trace of a request may be lost. */
export function mayBeLost(evidence: Evidence, requestId: string, sent: Sent): boolean {
  return wasKilled(evidence, sent) && crashAfterHold(evidence, requestId, sent) !== null;
}

/** The requests that a client got something of and that left no trace in the ledger, each with the kills that explain it. */
export function lostRequests(evidence: Evidence): string[] {
  return [...evidence.calls.keys()].flatMap((requestId) => {
    const asked = askedFor(evidence, requestId);
    if (evidence.ledger.generations.has(requestId) || asked === null || asked.firstByteAtMs === null)
      return [];
    const database = crashAfterHold(evidence, requestId, asked);
    if (database === null || !wasKilled(evidence, asked)) return [];
    const after = (atMs: number) => `${atMs - asked.startedAtMs} ms`;
    const gateway = evidence.kills.find(({ node, atMs }) => node === asked.node && atMs >= asked.startedAtMs);
    return `${requestId}: database killed after ${after(database)}, gateway ${asked.node} after ${after(gateway?.atMs ?? 0)}`;
  });
}
