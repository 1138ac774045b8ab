export type LeaseTimings = Readonly<{
  /** How long a node may be silent before it counts as dead. */
  leaseMs: number;
  beatMs: number;
  /** How long the database may take to answer before another connection is tried. */
  patienceMs: number;
  /**
   * For how long the heartbeat goes on without a sign of the main thread. One that is busy comes back and settles what
   * it has open; one that is stuck for good must not keep others from releasing it.
   */
  silenceMs: number;
}>;

export const usualTimings: LeaseTimings = {
  leaseMs: 10_000,
  beatMs: 2_000,
  patienceMs: 4_000,
  silenceMs: 60_000,
};
