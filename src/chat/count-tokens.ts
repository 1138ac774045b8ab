/**
 * Answers how many input tokens a request has, in any dialect. Nothing is held and no Generation is made, so these requests
 * have a rate of their own. A provider that speaks the client's format is asked; otherwise the answer is an estimate.
 */
import { ApiError } from '../errors.ts';
import type { Handler } from '../http/context.ts';
import { readQuery } from '../http/query.ts';
import { type InferenceServices, readInferenceBody } from '../inference/request.ts';
import type { ApiKey } from '../keys/key-store.ts';
import { rateAt } from '../lib/rate-limit.ts';
import { RecentMap } from '../lib/recent-map.ts';
import { minuteMs } from '../lib/time-units.ts';
import { accessTo, resolveModel } from '../models/access.ts';
import type { Original } from '../providers/chat.ts';
import { countTokensAt, isPassedOn } from '../providers/chat-call.ts';
import { ProviderError } from '../providers/upstream.ts';
import { type Candidate, upstreamOf } from '../routing/candidates.ts';
import type { ChatDialect } from './dialect.ts';
import { estimatedTokens } from './estimate.ts';
import type { ChatRequest } from './request.ts';

/** Clients count many times before they ask once: 26 within two seconds were seen. */
const leastPerMinute = 600;
const maxAccounts = 10_000;

/**
 * Of an account, whichever of its keys and endpoints it uses. In the memory of this process: whoever is forgotten starts
 * anew.
 */
export class CountingRates {
  readonly #nowMs: () => number;
  /** When each account's next request would be due. */
  readonly #arrivals = new RecentMap<number>(maxAccounts);

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Throws 429 rate_limit_exceeded. */
  count({ accountId, requestsPerMinute }: Pick<ApiKey, 'accountId' | 'requestsPerMinute'>): void {
    const limit = Math.max(leastPerMinute, requestsPerMinute);
    const nowMs = this.#nowMs();
    const arrivalMs = Math.max(nowMs, this.#arrivals.get(accountId) ?? 0);
    if (rateAt(limit, arrivalMs, nowMs).remaining < 1)
      throw new ApiError('rate_limit_exceeded', {
        message: `This account may count tokens ${limit.toLocaleString('en')} times per minute.`,
        retryAfterSeconds: 1,
      });
    this.#arrivals.set(accountId, arrivalMs + minuteMs / limit);
  }
}

/** Of a provider's slots, those that counts may have at a time: nobody pays for them, and those who pay need the rest. */
const shareOfSlots = 1 / 4;
const maxPerAccount = 8;

/** The counts that providers are being asked for. Beyond these, counts are estimated. */
export class OpenCounts {
  readonly #byOrigin = new Map<string, number>();

  /** Whether it has begun: it must be ended then. */
  begin(providerId: string, slots: number, accountId: string): boolean {
    const [all, own] = originsOf(providerId, accountId);
    const isFree =
      this.#at(all) < Math.max(1, Math.floor(slots * shareOfSlots)) && this.#at(own) < maxPerAccount;
    if (isFree) for (const origin of [all, own]) this.#byOrigin.set(origin, this.#at(origin) + 1);
    return isFree;
  }

  end(providerId: string, accountId: string): void {
    for (const origin of originsOf(providerId, accountId)) {
      const left = this.#at(origin) - 1;
      if (left === 0) this.#byOrigin.delete(origin);
      else this.#byOrigin.set(origin, left);
    }
  }

  #at(origin: string): number {
    return this.#byOrigin.get(origin) ?? 0;
  }
}

function originsOf(providerId: string, accountId: string): readonly [all: string, own: string] {
  return [JSON.stringify([providerId]), JSON.stringify([providerId, accountId])];
}

/** How a dialect counts. */
export type Counting<Asked> = Pick<ChatDialect<Asked>, 'parse' | 'queryParameters'> &
  Readonly<{ present: (tokens: number) => object }>;

export function countTokens<Asked>(
  { parse, queryParameters = [], present }: Counting<Asked>,
  { authenticate, bodies, catalog }: Pick<InferenceServices, 'authenticate' | 'bodies' | 'catalog'>,
  rates: CountingRates,
  open: OpenCounts,
): Handler {
  return async (request, context) => {
    const key = await authenticate(request, context, 'api_keys_lookup_failed');
    readQuery(request.url, queryParameters);
    rates.count(key);
    const body = await readInferenceBody(request, bodies, key.accountId, (sizeBytes) => {
      context.bodyBytes = sizeBytes;
    });
    const chat = parse(body, { headers: request.headers, accountId: key.accountId });
    const active = catalog();
    const access = accessTo(active.connections, key.allowedModels);
    const model = resolveModel(active.catalog, chat.model, 'chat', access, active.keyProblems);
    const candidates = active.candidates.get(model.id) ?? [];
    const counted = await askProvider(chat, candidates, key.accountId, context.requestId, open);
    return Response.json(present(counted ?? estimatedTokens(chat, model)));
  };
}

/** The count of the first candidate that speaks the format and may be called now; null when none tells. */
async function askProvider(
  chat: ChatRequest<unknown>,
  candidates: readonly Candidate[],
  accountId: string,
  requestId: string,
  open: OpenCounts,
): Promise<number | null> {
  const candidate = candidates.find((one) => isPassedOn(chat, one.chat));
  if (candidate === undefined || chat.original === null) return null;
  const { id, maxConcurrency } = candidate.connection.provider;
  if (!open.begin(id, maxConcurrency, accountId)) return null;
  try {
    return await countAt(candidate, chat.original, accountId, requestId);
  } finally {
    open.end(id, accountId);
  }
}

async function countAt(
  candidate: Candidate,
  original: Original,
  accountId: string,
  requestId: string,
): Promise<number | null> {
  const { gate } = candidate;
  // Whether a provider that failed is back is found out by calls that are paid for: a count would only be in their way.
  if ((gate.status(performance.now())?.state ?? 'closed') !== 'closed') return null;
  const permit = gate.enter(accountId, false);
  if (permit === null) return null;
  const upstream = upstreamOf(candidate, { requestId, traceparent: null, cacheKey: null }, null);
  try {
    return await countTokensAt(candidate, original, upstream);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return null;
  } finally {
    // Whether a provider counts tokens says nothing about whether it answers.
    permit.withdrawn();
  }
}
