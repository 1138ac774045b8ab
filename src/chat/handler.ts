/** POST /v1/chat/completions: authenticate → parse → find the model → admit → answer. */
import { ApiError } from '../errors.ts';
import type { RequestContext } from '../http/context.ts';
import { readJsonBody } from '../http/json-body.ts';
import { readQuery } from '../http/query.ts';
import type { Claim } from '../idempotency/claim.ts';
import type { ApiKey } from '../keys/key-store.ts';
import { resolveModel } from '../models/access.ts';
import { inOrder, Turns } from '../routing/candidates.ts';
import { ableToServe, checkCapabilities } from './capabilities.ts';
import { adviceFor, chatTerms, holdRange, outputBound } from './hold.ts';
import { type ChatRequest, parseChat } from './parse.ts';
import { answerAsStream } from './stream.ts';
import { answerWhole } from './whole.ts';

export async function createChatCompletion(request: Request, context: RequestContext): Promise<Response> {
  const key = await context.authenticate('api_keys_lookup_failed');
  readQuery(request.url, []);
  const payer = { budget: context.services.bodies, accountId: key.accountId };
  return await answerChat(request, context, key, await readJsonBody(request, { payer }));
}

/** All that follows once it is known which key pays, however that was found out. */
export async function answerChat(
  request: Request,
  context: RequestContext,
  key: ApiKey,
  body: unknown,
): Promise<Response> {
  const { services } = context;
  context.noteCaller(key);
  const chat = parseChat(body);
  services.admitter.refuseWhoMustWait(key);
  context.waitPatiently();
  return await services.idempotency.once(
    request,
    {
      id: context.id,
      keyId: key.id,
      route: 'chat',
      body,
      countReplay: () => services.admitter.countReplay(key, context.id),
    },
    (claim) => complete(request, context, key, chat, claim),
  );
}

async function complete(
  request: Request,
  { services, id, requestId, noteRate }: RequestContext,
  key: ApiKey,
  chat: ChatRequest,
  claim: Claim | null,
): Promise<Response> {
  const active = services.catalog();
  const model = resolveModel(active.catalog, chat.model, 'chat', {
    allowedModels: key.allowedModels,
    isProviderConfigured: (provider) => active.connections.has(provider.id),
  });
  checkCapabilities(chat, model);
  const { price } = model;
  if (price.billingType !== 'token') throw new ApiError('model_pricing_not_configured', { param: 'model' });
  const candidates = ableToServe(active.candidates.get(model.id) ?? [], chat.call);
  const terms = chatTerms(chat.call, model, price);
  const priceListId = await active.priceList.number();
  const turns = new Turns(inOrder(candidates, Math.random), key.accountId);
  const { generation, held, rate } = await services.admitter.admit({
    id,
    key,
    workload: 'chat',
    model: model.id,
    streaming: chat.stream,
    priceListId,
    provider: candidates[0]?.connection.provider.name ?? '',
    turn: turns.current,
    claimedName: claim?.request.name ?? null,
    hold: holdRange(terms),
    advice: (available) => adviceFor(terms, available),
  });
  noteRate(rate);
  if (request.signal.aborted) {
    await generation.abandon();
    return new Response();
  }
  const run = {
    requestId,
    chat,
    bill: {
      price,
      bounds: { inputTokens: terms.input.tokens, outputTokens: outputBound(terms, held) },
      textBytes: terms.input.textBytes,
    },
    generation,
    turns,
    claim,
    client: request.signal,
  };
  return chat.stream ? await answerAsStream(run, services) : await answerWhole(run, services.noteAttempts);
}
