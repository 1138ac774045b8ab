/** How a run with kills goes. */

export type ChaosOptions = Readonly<{
  /** Kills go on for this long; null means until the numbers below are reached. */
  seconds: number | null;
  gatewayKills: number;
  databaseKills: number;
  /** How often a gateway is stopped for longer than its lease, and how often its clock jumps. */
  freezes: number;
  clockJumps: number;
  /** Rounds in which honest clients are measured, alone and then alongside hostile ones, and how long each half takes. */
  hostileRounds: number;
  hostileMs: number;
  /** How long a gateway may be silent before the other one takes it for dead. */
  leaseMs: number;
  connections: number;
  seed: number;
  /** How long the database stays away after every second kill; after the others it is started again at once. */
  awayMs: number;
  /** A data folder to start from a copy of; only tests set it. */
  preparedFolder?: string;
}>;

export const shortForm: ChaosOptions = {
  seconds: null,
  gatewayKills: 10,
  databaseKills: 3,
  freezes: 1,
  clockJumps: 2,
  hostileRounds: 2,
  hostileMs: 4_000,
  leaseMs: 10_000,
  connections: 32,
  seed: 1,
  awayMs: 7_000,
};
