import type { Log } from '../lib/log.ts';
import type { Ledger } from './ledger.ts';
import { withheld } from './settlement.ts';
import type { Spool } from './spool.ts';

/** Settles what an earlier process left in the spool, before anything new starts. */
export async function settleLeftBehind(ledger: Ledger, spool: Spool, log: Log): Promise<void> {
  const { settlements, malformedCount } = spool.takeLeftBehind();
  if (malformedCount > 0)
    log.error('malformed lines in the spool were moved to malformed.txt', { count: malformedCount });
  // A non-streamed response is sent only once it is settled, so nobody has received an unsettled one.
  const results = await Promise.all(
    settlements.map((settlement) =>
      ledger.settle(
        settlement.onInsufficientBalance === 'withhold' && settlement.stored === null
          ? withheld(settlement)
          : settlement,
      ),
    ),
  );
  // What is not settled yet stays in its file for the next process; settling it twice does no harm.
  if (results.includes('late')) return;
  spool.clearTaken();
  if (settlements.length > 0)
    log.warn('settled what an earlier process left behind', { count: settlements.length });
}
