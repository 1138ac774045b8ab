/** POST /v1/chat/completions: authenticate → parse → find the model → admit → answer. */
import { ApiError } from '../errors.ts';
import type { RequestContext } from '../http/context.ts';
import { readJsonBody } from '../http/json-body.ts';
import { readQuery } from '../http/query.ts';
import { setRateLimitHeaders } from '../http/rate-limit-headers.ts';
import { authenticate } from '../keys/authenticate.ts';
import { resolveModel } from '../models/access.ts';
import { costAtRates, dearestTokenRates } from '../pricing/cost.ts';
import { inOrder, Turns } from '../routing/candidates.ts';
import { tokenBounds } from './bounds.ts';
import { ableToServe, checkCapabilities } from './capabilities.ts';
import { parseChat } from './parse.ts';
import { answerAsStream } from './stream.ts';
import { answerWhole } from './whole.ts';

export async function createChatCompletion(
  request: Request,
  { services, id, requestId }: RequestContext,
): Promise<Response> {
  const key = await authenticate(request.headers.get('authorization'), services.keys);
  readQuery(request.url, []);
  const chat = parseChat(await readJsonBody(request));
  const active = services.catalog();
  const model = resolveModel(active.catalog, chat.model, 'chat', {
    allowedModels: key.allowedModels,
    isProviderConfigured: (provider) => active.connections.has(provider.id),
  });
  checkCapabilities(chat, model);
  const { price } = model;
  if (price.billingType !== 'token') throw new ApiError('model_pricing_not_configured', { param: 'model' });
  const candidates = ableToServe(active.candidates.get(model.id) ?? [], chat.call);
  const bounds = tokenBounds(chat, model);
  const hold = costAtRates(dearestTokenRates(price, bounds.inputTokens), bounds).total;
  const turns = new Turns(inOrder(candidates, Math.random));
  const { generation, rate } = await services.admitter.admit({
    id,
    key,
    workload: 'chat',
    model: model.id,
    streaming: chat.stream,
    priceListId: active.priceListId,
    provider: candidates[0]?.connection.provider.name ?? '',
    turn: turns.current,
    hold,
  });
  if (request.signal.aborted) {
    await generation.abandon();
    return new Response();
  }
  const { maxOutputTokens } = model;
  const run = { requestId, chat, maxOutputTokens, price, generation, turns, client: request.signal };
  const response = chat.stream
    ? await answerAsStream(run, services)
    : await answerWhole(run, services.noteAttempts);
  setRateLimitHeaders(response.headers, rate);
  return response;
}
