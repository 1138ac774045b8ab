/** How patient payments are. It can be replaced, because neither chaos nor tests can wait for minutes. */
export const pace = {
  /** Between two sweeps. An account that needs credit waits for it no longer than this. */
  sweepMs: 5_000,
  /** Longer than a look can take. */
  claimSeconds: 180,
  maxLookMs: 120_000,
  /** A checkout that was opened is looked at by itself for the first time after this. */
  firstLookSeconds: 120,
  /** Between two reads of Stripe's list of events. */
  pollSeconds: 300,
  /** Events may be listed late, and reading one twice does no harm. */
  overlapSeconds: 600,
};
