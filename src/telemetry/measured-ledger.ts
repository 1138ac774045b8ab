import type { Ledger } from '../ledger/ledger.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';

/** The same ledger, with its holds and settlements timed. Callers get the ledger's own promises, so nobody waits longer. */
export function measuredLedger(ledger: Ledger, metrics: GatewayMetrics): Ledger {
  return {
    ...ledger,
    hold: (hold, waitedMs) => {
      const startedAt = performance.now();
      const held = ledger.hold(hold, waitedMs);
      held.then(
        (result) =>
          metrics.holdEnded(result.outcome === 'held' ? 'held' : result.code, performance.now() - startedAt),
        () => metrics.holdEnded('balance_lookup_failed', performance.now() - startedAt),
      );
      return held;
    },
    settle: (settlement, onTimeout, waitedMs) => {
      const startedAt = performance.now();
      const settled = ledger.settle(settlement, onTimeout, waitedMs);
      settled.then(
        () => metrics.settled(performance.now() - startedAt),
        () => undefined,
      );
      return settled;
    },
  };
}
