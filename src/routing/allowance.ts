/**
 * How many of a provider's slots each node may use, so that `max_concurrency` holds for the whole deployment. Every node
 * works it out for itself, from what all nodes reported with their heartbeats. Pure.
 */
import { z } from 'zod';

/** What a node reported of its calls to one provider. */
export type Demand = Readonly<{
  /** The most it had in flight since its previous report. */
  inFlight: number;
  /** How many requests it turned away since then because it had no slot. */
  turnedAway: number;
}>;

export const noDemand: Demand = { inFlight: 0, turnedAway: 0 };

/**
 * How many calls the node at `place` may have in flight. `demands` are those of all live nodes, in the same order on
 * each. Every node gets at least one slot, so that it can serve at all.
 */
export function allowanceOf(max: number, demands: readonly Demand[], place: number): number {
  const own = demands[place] ?? noDemand;
  const shares = sharesOf(max, demands);
  const share = shares[place] ?? 0;
  const inFlight = demands.reduce((sum, demand) => sum + demand.inFlight, 0);
  const free = Math.max(0, max - inFlight);
  if (own.inFlight >= share) return Math.max(1, share);
  // Slots that other nodes still use beyond their share are not available yet: only the free ones are divided.
  const missing = demands.reduce(
    (sum, demand, index) => sum + Math.max(0, (shares[index] ?? 0) - demand.inFlight),
    0,
  );
  const part = missing <= free ? 1 : free / missing;
  return Math.max(1, own.inFlight + Math.floor((share - own.inFlight) * part));
}

/**
 * Every node gets what it wants, and an equal part of the rest. If there is not enough, none gets more than an equal part
 * of what the modest ones leave.
 */
function sharesOf(max: number, demands: readonly Demand[]): number[] {
  const wanted = demands.map(({ inFlight, turnedAway }) => inFlight + turnedAway);
  const shares = wanted.map(() => 0);
  let left = max;
  let places = wanted.map((_, index) => index);
  for (;;) {
    const equal = left / places.length;
    const modest = places.filter((index) => (wanted[index] ?? 0) <= equal);
    if (modest.length === 0 || modest.length === places.length) break;
    for (const index of modest) {
      shares[index] = wanted[index] ?? 0;
      left -= shares[index] ?? 0;
    }
    places = places.filter((index) => !modest.includes(index));
  }
  const areModest = places.every((index) => (wanted[index] ?? 0) <= left / places.length);
  if (areModest) for (const index of places) left -= wanted[index] ?? 0;
  const each = Math.floor(left / places.length);
  for (const [rank, index] of places.entries())
    shares[index] = (areModest ? (wanted[index] ?? 0) : 0) + each + (rank < left % places.length ? 1 : 0);
  return shares;
}

const callsSchema = z.record(z.string(), z.tuple([z.int().min(0), z.int().min(0)]));

/** By provider, as a node reports it: in flight, turned away. */
export type ReportedCalls = Readonly<Record<string, readonly [number, number]>>;

/** Empty for a node of another version, or one that reported nothing. */
export function readCalls(stored: unknown): ReadonlyMap<string, Demand> {
  const calls = callsSchema.safeParse(stored).data ?? {};
  return new Map(
    Object.entries(calls).map(([provider, [inFlight, turnedAway]]) => [provider, { inFlight, turnedAway }]),
  );
}
