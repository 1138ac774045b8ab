/**
 * A call may begin before its hold is committed, but its client gets nothing before that. When a client got its first byte,
 * its own log says; when the hold was committed, PostgreSQL.
 */
import type { Seen } from '../trials/client-call.ts';
import { networkProviders } from '../world/catalog.ts';
import type { ProviderCall } from '../world/upstream.ts';
import { askedFor, type Evidence, isRefused } from './evidence.ts';
import { crashAfterHold } from './lost-holds.ts';
import { checkEach, type Truth } from './truth.ts';
import { roundedMs, whyUnheld } from './unheld-calls.ts';

/** A cancelled call waits in the gateway's memory while the database is away, and is tried again every three seconds at least. */
const recordedWithinMs = 6_000;

export function judgeHolds(evidence: Evidence): Truth[] {
  const { seen, calls, ledger, holds } = evidence;
  const delivered = seen.filter((line) => line.requestId !== null && !isRefused(line));
  // A hold that was committed, but not confirmed in time, has failed, too.
  const isCancelled = ({ requestId }: ProviderCall) =>
    ledger.generations.get(requestId)?.errorCode === 'balance_lookup_failed' ||
    (!holds.has(requestId) && whyUnheld(evidence, requestId)?.isCancelled);
  const cancelled = [...calls.values()].flat().filter(isCancelled);
  return [
    checkEach('no client received a byte of a request whose hold was not committed', delivered, (line) =>
      wrongDelivery(evidence, line),
    ),
    checkEach(
      'a provider was called without a hold only where it was denied, failed or lost',
      [...calls.keys()],
      (requestId) => {
        // What was held is settled, or closed by another node.
        if (holds.has(requestId)) return ledger.generations.has(requestId) ? null : `${requestId} was held`;
        return whyUnheld(evidence, requestId) === null ? requestId : null;
      },
    ),
    {
      ...checkEach('a call whose hold was denied or failed is on record as ours', cancelled, (call) =>
        isForgotten(evidence, call) ? `${call.requestId} ${call.provider}` : null,
      ),
      mayBeUntested: true,
    },
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

/** Whether a provider will bill a call that nothing in the database tells of, although its gateway had time to say so. */
function isForgotten(evidence: Evidence, { requestId, provider, usage }: ProviderCall): boolean {
  const asked = askedFor(evidence, requestId);
  const record = evidence.ledger.cancelledCalls.get(requestId);
  if (record !== undefined) return record.provider !== provider;
  // What the network did to the answer, or the provider refused, may have told the gateway that it costs nothing.
  if (usage === null || asked === null || networkProviders.has(provider)) return false;
  const { startedAtMs, ms, node } = asked;
  const endedAtMs = startedAtMs + ms;
  // The database has to stay for that long: if it is killed once more, the gateway has to begin anew.
  let untilMs = endedAtMs + recordedWithinMs;
  for (const outage of evidence.outages)
    if (outage.fromMs < untilMs && outage.untilMs > endedAtMs) untilMs = outage.untilMs + recordedWithinMs;
  return !evidence.kills.some(
    (kill) => kill.node === node && kill.atMs >= startedAtMs && kill.atMs < untilMs,
  );
}
