/** Which providers can serve a model, and in which order they are tried. */
import type { Catalog, Model, Provider } from '../models/model.ts';
import { chargedRates, type Price } from '../pricing/price.ts';
import type { ChatAdapter } from '../providers/chat.ts';
import { chatAdapters } from '../providers/chat-call.ts';
import type { ReasoningSupport } from '../providers/effort.ts';
import type { EndUser } from '../providers/end-user.ts';
import type { CallOrigin, Upstream } from '../providers/upstream.ts';
import type { ProviderConnection } from './connections.ts';
import type { Conversation } from './conversations.ts';
import type { Gate, Permit } from './gate.ts';
import type { Gates } from './gates.ts';

/** One way to serve a request: a provider that can be called, what it calls the model, and whether it may be called now. */
export type Candidate = Readonly<{
  connection: ProviderConnection;
  /** The format of the API that serves the model there. */
  chat: ChatAdapter;
  upstreamModel: string;
  weight: number | null;
  /** What this provider charges the operator; null when the catalogue does not say. */
  cost: Price | null;
  gate: Gate;
  /** Whether calls mark what the provider should write to its cache. */
  marksCache: boolean;
  /** What the model can be told about its reasoning, and whether how much to write. */
  reasoning: ReasoningSupport | null;
  takesVerbosity: boolean;
}>;

/** Where a call to a candidate goes. `maxOutputTokens` limits the answer; null when it is not text. */
export function upstreamOf(
  { connection, upstreamModel, marksCache, reasoning, takesVerbosity }: Candidate,
  origin: CallOrigin,
  maxOutputTokens: number | null,
  showsReasoning = false,
): Upstream {
  const { baseUrl, apiKey, provider } = connection;
  const { requestId, traceparent, cacheKey } = origin;
  return {
    baseUrl,
    apiKey,
    model: upstreamModel,
    maxOutputTokens,
    dialect: provider.dialect,
    marksCache,
    cacheKey,
    showsReasoning,
    reasoning,
    takesVerbosity,
    maker: `${provider.id}/${upstreamModel}`,
    endUser: endUserOf(provider, origin),
    requestId,
    traceparent,
    cancellation: origin.cancellation ?? null,
  };
}

/** The ID is made only for a provider that gets it. */
function endUserOf({ endUserField: field }: Provider, origin: CallOrigin): EndUser | null {
  const id = field === null ? null : (origin.endUserId ?? null);
  return field === null || id === null ? null : { field, id };
}

/** The candidates of every model, in the order of the catalogue. A model that no provider can serve has none. */
export function candidatesByModel(
  catalog: Catalog,
  connections: ReadonlyMap<string, ProviderConnection>,
  gates: Gates,
): ReadonlyMap<string, readonly Candidate[]> {
  const candidates = new Map<string, readonly Candidate[]>();
  for (const model of catalog.models.values()) {
    const { id, price, routes, takesVerbosity } = model;
    const isWritePriced = hasWritePrice(price);
    const reachable = routes.flatMap(({ providerId, upstreamModel, api, weight, cost }) => {
      const connection = connections.get(providerId);
      if (connection === undefined) return [];
      const gate = gates.at(connection.provider, upstreamModel, connection.apiKey);
      const chat = chatAdapters[api ?? connection.provider.adapter];
      const marksCache = isWritePriced && connection.provider.promptCache === 'auto' && api === null;
      const reasoning = reasoningAt(connection.provider, model);
      return [{ connection, chat, upstreamModel, weight, cost, gate, marksCache, reasoning, takesVerbosity }];
    });
    candidates.set(id, reachable);
  }
  return candidates;
}

/** What a model can be told about its reasoning through this provider. */
function reasoningAt({ unsupportedParameters }: Provider, model: Model): ReasoningSupport | null {
  const isUnsupported = [unsupportedParameters, model.unsupportedParameters].some((names) =>
    names.has('reasoning_effort'),
  );
  return isUnsupported ? null : model.reasoning;
}

/** Without a price of their own, writes would be charged as other input, and most providers ask more for them. */
function hasWritePrice(price: Price | null): boolean {
  return (
    price?.billingType === 'token' && chargedRates(price).every(({ cacheWrite }) => cacheWrite !== undefined)
  );
}

/**
 * The order for one request: that of the catalogue, unless there are weights. Then candidates are drawn one by one, with
 * a probability proportional to their weight. `random` returns numbers from 0 to below 1.
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

/** A candidate that its gate has let through, and the conversation that it is called for, where caches matter for it. */
export type PermittedCandidate = Readonly<{
  candidate: Candidate;
  permit: Permit;
  conversation: Conversation | null;
}>;

/** The candidates of one request, one after the other. Those whose gate is shut are skipped. */
export class CandidatesInTurn {
  readonly #candidates: readonly Candidate[];
  readonly #account: string;
  readonly #isWitness: boolean;
  readonly #conversation: Conversation | null;
  #place = 0;
  #current: PermittedCandidate | null;

  /**
   * `account` is whose request it is: gates keep records by account, and give each its share. The failures of a witness
   * may, together with those of many others, concern everyone. A conversation goes on where its cache is, if it can.
   */
  constructor(
    candidates: readonly Candidate[],
    account: string,
    isWitness = true,
    conversation: Conversation | null = null,
  ) {
    this.#candidates = conversation?.inOrder(candidates) ?? candidates;
    this.#account = account;
    this.#isWitness = isWitness;
    this.#conversation = conversation;
    this.#current = this.next();
  }

  /** Null when there is no candidate left to call. */
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
      if (permit !== null) this.#current = { candidate, permit, conversation: this.#conversation };
    }
    return this.#current;
  }

  /**
   * For an admitted request for which no candidate could be called: its account gets a slot before others do. Not called
   * for requests without a hold, because an account that cannot pay must not be able to reserve slots.
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
