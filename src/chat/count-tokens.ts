/**
 * Answers how many input tokens a request has, in any dialect. Nothing is held and no Generation is made, so these requests
 * have a rate of their own. A provider that speaks the client's format is asked; otherwise the answer is an estimate.
 */
import { ApiError } from '../errors.ts';
import type { Handler } from '../http/context.ts';
import { readQuery } from '../http/query.ts';
import { type InferenceServices, readInferenceBody } from '../inference/request.ts';
import type { ApiKey } from '../keys/key-store.ts';
import { minuteMs, rateAt } from '../lib/rate-limit.ts';
import { RecentMap } from '../lib/recent-map.ts';
import { resolveModel } from '../models/access.ts';
import { countTokensAt, isPassedOn } from '../providers/chat-call.ts';
import { ProviderError } from '../providers/upstream.ts';
import { type Candidate, upstreamOf } from '../routing/candidates.ts';
import type { ChatDialect } from './dialect.ts';
import { estimatedTokens } from './estimate.ts';
import type { ChatRequest } from './request.ts';

/** Clients count many times before they ask once: 26 within two seconds were seen. */
const leastPerMinute = 600;
const maxKeys = 10_000;

/** In the memory of this process: whoever is forgotten starts anew. */
export class CountingRates {
  readonly #nowMs: () => number;
  /** When each key's next request would be due. */
  readonly #arrivals = new RecentMap<number>(maxKeys);

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Throws 429 rate_limit_exceeded. */
  count({ id, requestsPerMinute }: Pick<ApiKey, 'id' | 'requestsPerMinute'>): void {
    const limit = Math.max(leastPerMinute, requestsPerMinute);
    const nowMs = this.#nowMs();
    const arrivalMs = Math.max(nowMs, this.#arrivals.get(id) ?? 0);
    if (rateAt(limit, arrivalMs, nowMs).remaining < 1)
      throw new ApiError('rate_limit_exceeded', {
        message: `This API key may count tokens ${limit.toLocaleString('en')} times per minute.`,
        retryAfterSeconds: 1,
      });
    this.#arrivals.set(id, arrivalMs + minuteMs / limit);
  }
}

/** How a dialect counts. */
export type Counting<Asked> = Pick<ChatDialect<Asked>, 'parse' | 'queryParameters'> &
  Readonly<{ present: (tokens: number) => object }>;

export function countTokens<Asked>(
  { parse, queryParameters = [], present }: Counting<Asked>,
  { authenticate, bodies, catalog }: Pick<InferenceServices, 'authenticate' | 'bodies' | 'catalog'>,
  rates: CountingRates,
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
    const access = {
      allowedModels: key.allowedModels,
      isProviderConfigured: ({ id }: Readonly<{ id: string }>) => active.connections.has(id),
    };
    const model = resolveModel(active.catalog, chat.model, 'chat', access, active.keyProblems);
    const candidates = active.candidates.get(model.id) ?? [];
    const counted = await askProvider(chat, candidates, key.accountId, context.requestId);
    return Response.json(present(counted ?? estimatedTokens(chat, model)));
  };
}

/** The count of the first candidate that speaks the format and may be called now; null when none tells. */
async function askProvider(
  chat: ChatRequest<unknown>,
  candidates: readonly Candidate[],
  accountId: string,
  requestId: string,
): Promise<number | null> {
  const candidate = candidates.find((one) => isPassedOn(chat, one.chat));
  if (candidate === undefined || chat.original === null) return null;
  const permit = candidate.gate.enter(accountId, false);
  if (permit === null) return null;
  const upstream = upstreamOf(candidate, { requestId, traceparent: null, cacheKey: null }, null);
  try {
    return await countTokensAt(
      { chat: candidate.chat, link: candidate.connection.link },
      chat.original,
      upstream,
    );
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return null;
  } finally {
    // Whether a provider counts tokens says nothing about whether it answers.
    permit.withdrawn();
  }
}
