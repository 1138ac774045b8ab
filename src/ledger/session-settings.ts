/** The settings of the ledger's sessions with the database. */

/**
 * The ledger's functions look up single rows by ID, so their plans are made once and always use the indexes, in the order of
 * the rows that they are given. Statistics do not help with tables whose rows come and go within seconds. A node that freezes
 * in the middle of a transaction must not block accounts for the others. Another node has a row locked for milliseconds; one
 * that stays locked for longer must not hold up the operations on all others.
 */
export const laneSettings = `
  set synchronous_commit = off;
  set plan_cache_mode = force_generic_plan;
  set enable_seqscan = off;
  set enable_hashjoin = off;
  set enable_mergejoin = off;
  set idle_in_transaction_session_timeout = '5s';
  set lock_timeout = '100ms'`;
/** Nobody else waits there, and a row that busy nodes share may take longer when the machine is busy, too. */
export const lockedLaneSettings = `${laneSettings}; set lock_timeout = '250ms'`;
export const flushSettings = `set lock_timeout = '5s'`;
