/**
 * POST /v1/messages/count_tokens: how many tokens a request would have. Nothing is held, charged or recorded for it. Clients
 * ask for many counts at once, so they have a rate of their own.
 */
import { ApiError } from '../../errors.ts';
import type { BodyBudget } from '../../http/body-budget.ts';
import type { Handler } from '../../http/context.ts';
import { readQuery } from '../../http/query.ts';
import { readInferenceBody } from '../../inference/request.ts';
import type { Authenticate } from '../../keys/authenticate.ts';
import type { ApiKey } from '../../keys/key-store.ts';
import { minuteMs, rateAt } from '../../lib/rate-limit.ts';
import { RecentMap } from '../../lib/recent-map.ts';
import type { CallableModel } from '../../models/access.ts';
import { resolveModel } from '../../models/access.ts';
import { countTokens, isPassedOn } from '../../providers/chat-call.ts';
import { ProviderError } from '../../providers/upstream.ts';
import type { ActiveCatalog } from '../../routing/active-catalog.ts';
import { type Candidate, upstreamOf } from '../../routing/candidates.ts';
import { inputBound } from '../bounds.ts';
import type { ChatRequest } from '../request.ts';
import type { Signatures } from '../signatures.ts';
import { parseCount } from './parse.ts';

type CountServices = Readonly<{
  authenticate: Authenticate;
  bodies: BodyBudget;
  catalog: () => ActiveCatalog;
}>;

/** Claude Code sends 26 within two seconds. */
const countsPerMinute = 600;
const maxKeys = 10_000;

export function countMessageTokens(
  { authenticate, bodies, catalog }: CountServices,
  signatures: Signatures,
): Handler {
  const rate = new CountRate();
  return async (request, context) => {
    const key = await authenticate(request, context, 'api_keys_lookup_failed');
    readQuery(request.url, ['beta']);
    rate.take(key);
    const body = await readInferenceBody(request, bodies, key.accountId, (sizeBytes) => {
      context.bodyBytes = sizeBytes;
    });
    const incoming = { headers: request.headers, accountId: key.accountId };
    const chat = parseCount(body, incoming, signatures);
    const active = catalog();
    const access = {
      allowedModels: key.allowedModels,
      isProviderConfigured: ({ id }: Readonly<{ id: string }>) => active.connections.has(id),
    };
    const model = resolveModel(active.catalog, chat.model, 'chat', access, active.keyProblems);
    const candidates = active.candidates.get(model.id) ?? [];
    const asked = await askProvider(chat, candidates, key.accountId, context.requestId);
    return Response.json({ input_tokens: asked ?? estimate(chat, model) });
  };
}

function estimate({ call, furtherInput }: ChatRequest<unknown>, model: CallableModel): number {
  const further = furtherInput === undefined ? undefined : { ...furtherInput, unbounded: null };
  return inputBound(call, model, further).likelyTokens;
}

/** The count of the first candidate that speaks the format and may be called now; null when none tells. */
async function askProvider(
  chat: ChatRequest<unknown>,
  candidates: readonly Candidate[],
  accountId: string,
  requestId: string,
): Promise<number | null> {
  const candidate = candidates.find(({ connection }) => isPassedOn(chat, connection.chat));
  if (candidate === undefined || chat.original === null) return null;
  const permit = candidate.gate.enter(accountId, false);
  if (permit === null) return null;
  const upstream = upstreamOf(candidate, { requestId, traceparent: null, cacheKey: null }, null);
  try {
    return await countTokens(candidate.connection, chat.original, upstream);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return null;
  } finally {
    // Whether a provider counts tokens says nothing about whether it answers.
    permit.withdrawn();
  }
}

/** Each node counts for itself; whoever is forgotten starts anew. */
class CountRate {
  readonly #arrivals = new RecentMap<number>(maxKeys);

  take({ id, requestsPerMinute }: ApiKey): void {
    const nowMs = performance.now();
    const perMinute = Math.max(countsPerMinute, requestsPerMinute);
    const arrivalMs = Math.max(nowMs, this.#arrivals.get(id) ?? 0);
    const { remaining, resetMs } = rateAt(perMinute, arrivalMs, nowMs);
    if (remaining < 1)
      throw new ApiError('rate_limit_exceeded', {
        message: `A key may count the tokens of ${perMinute} requests a minute.`,
        docs: 'messages#counting-tokens',
        retryAfterSeconds: Math.max(1, Math.ceil((resetMs - minuteMs) / 1_000)),
      });
    this.#arrivals.set(id, arrivalMs + minuteMs / perMinute);
  }
}
