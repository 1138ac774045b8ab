/** Who can serve a model, and in which order they are asked. */
import type { Catalog } from '../models/model.ts';
import type { Upstream } from '../providers/upstream.ts';
import type { ProviderConnection } from './connections.ts';
import type { Gate, Permit } from './gate.ts';
import type { Gates } from './gates.ts';

/** One way to serve a request: a provider that can be called, what it calls the model, and whether it may be called now. */
export type Candidate = Readonly<{
  connection: ProviderConnection;
  upstreamModel: string;
  weight: number | null;
  gate: Gate;
}>;

/** Where a call to a candidate goes. `maxOutputTokens` is how long an answer may get; null for what is no text. */
export function upstreamOf(
  { connection, upstreamModel }: Candidate,
  generationId: string,
  maxOutputTokens: number | null,
): Upstream {
  const { baseUrl, apiKey, provider } = connection;
  return { baseUrl, apiKey, model: upstreamModel, maxOutputTokens, dialect: provider.dialect, generationId };
}

/** The candidates of every model, in the order of the catalogue. A model nobody can serve has none. */
export function candidatesByModel(
  catalog: Catalog,
  connections: ReadonlyMap<string, ProviderConnection>,
  gates: Gates,
): ReadonlyMap<string, readonly Candidate[]> {
  const candidates = new Map<string, readonly Candidate[]>();
  for (const { id, routes } of catalog.models.values()) {
    const reachable = routes.flatMap(({ providerId, upstreamModel, weight }) => {
      const connection = connections.get(providerId);
      if (connection === undefined) return [];
      return [
        {
          connection,
          upstreamModel,
          weight,
          gate: gates.at(connection.provider, upstreamModel, connection.apiKey),
        },
      ];
    });
    candidates.set(id, reachable);
  }
  return candidates;
}

/**
 * The order for one request: that of the catalogue, unless weights are given. Then each place is drawn, with a chance in
 * proportion to the weight. `random` gives numbers from 0 to below 1.
 */
export function inOrder<Choice extends Readonly<{ weight: number | null }>>(
  candidates: readonly Choice[],
  random: () => number,
): readonly Choice[] {
  if (candidates.length < 2 || candidates.every(({ weight }) => weight === null)) return candidates;
  const left = [...candidates];
  const ordered: Choice[] = [];
  while (left.length > 0) {
    let point = random() * left.reduce((sum, { weight }) => sum + (weight ?? 1), 0);
    const drawn = left.findIndex(({ weight }) => {
      point -= weight ?? 1;
      return point < 0;
    });
    // Rounding may leave the point just past the last weight.
    ordered.push(...left.splice(drawn < 0 ? left.length - 1 : drawn, 1));
  }
  return ordered;
}

/** A candidate whose turn it is, let through by its gate. */
export type PermittedCandidate = Readonly<{ candidate: Candidate; permit: Permit }>;

/** The candidates of one request, one after the other. Those whose gate is shut are skipped. */
export class Rotation {
  readonly #candidates: readonly Candidate[];
  readonly #account: string;
  readonly #isWitness: boolean;
  #place = 0;
  #current: PermittedCandidate | null;

  /**
   * `account` is whose request it is: gates judge each by what it has met with, and give each its share. What happens to
   * a witness may, together with that of others, shut a gate for everyone.
   */
  constructor(candidates: readonly Candidate[], account: string, isWitness = true) {
    this.#candidates = candidates;
    this.#account = account;
    this.#isWitness = isWitness;
    this.#current = this.next();
  }

  /** Null when there is nobody left to call. */
  get current(): PermittedCandidate | null {
    return this.#current;
  }

  next(): PermittedCandidate | null {
    this.#current = null;
    while (this.#current === null) {
      const candidate = this.#candidates[this.#place];
      if (candidate === undefined) return null;
      this.#place += 1;
      const permit = candidate.gate.enter(this.#account, this.#isWitness);
      if (permit !== null) this.#current = { candidate, permit };
    }
    return this.#current;
  }

  /**
   * When none could be called for a request that was admitted: its account gets a place before others do. Whoever cannot
   * pay must not be able to have places kept.
   */
  turnAway(): void {
    for (const { gate } of this.#candidates) gate.turnAway(this.#account);
  }

  /** When none could be called: the seconds until one may be. */
  waitSeconds(): number {
    const waits = this.#candidates.map(({ gate }) => gate.waitMs(this.#account));
    return Math.max(1, Math.ceil(Math.min(...waits) / 1000));
  }
}
