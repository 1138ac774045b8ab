/** How patient payments are. It can be replaced, because chaos cannot wait for minutes. */
export const pace = {
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
