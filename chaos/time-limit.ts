/** How long a run may take. One that takes longer hangs, or has become too slow for its numbers, and is ended as failed. */
import { leftoverPatienceMs } from '../src/database/leftover-processes.ts';
import { maxFreezeMs } from './trials/freezes.ts';
import type { ChaosOptions } from './trials/options.ts';

/** The longest pause before a blow, and the longest that a gateway or the database may take to be ready after it. */
const pauseMs = 3_000;
const readyMs = 5_000;
/** A clock that jumps is noticed, and right again, within this time. */
const clockMs = 45_000;
/**
 * At the end, clients wait for their last responses, orphans for their node's lease, webhooks and payments for what is still
 * due, and all of it is read and audited.
 */
const endMs = 420_000;
/** After the numbers of honest and hostile clients, for the last responses of a round. */
const roundEndMs = 40_000;

export function maxRunMs(options: ChaosOptions): number {
  const { seconds, gatewayKills, databaseKills, freezes, clockJumps, hostileRounds, hostileMs } = options;
  const databaseMs = options.awayMs + leftoverPatienceMs + readyMs;
  const freezeMs = readyMs + maxFreezeMs(options.leaseMs) + readyMs;
  // A run that is limited in time ends after the blow during which its time is over.
  const blowsMs =
    seconds === null
      ? gatewayKills * (pauseMs + readyMs) +
        databaseKills * (pauseMs + databaseMs) +
        freezes * (pauseMs + freezeMs) +
        clockJumps * (pauseMs + clockMs)
      : seconds * 1_000 + pauseMs + Math.max(databaseMs, freezeMs, clockMs);
  return blowsMs + hostileRounds * 2 * (hostileMs + roundEndMs) + endMs;
}
