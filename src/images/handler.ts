/** POST /v1/images/generations: authenticate → parse → find the model and who makes its images → admit → answer. */
import { ApiError } from '../errors.ts';
import type { RequestContext } from '../http/context.ts';
import { readJsonBody } from '../http/json-body.ts';
import { readQuery } from '../http/query.ts';
import type { Claim } from '../idempotency/claim.ts';
import type { ApiKey } from '../keys/key-store.ts';
import type { Money } from '../lib/money.ts';
import { resolveModel } from '../models/access.ts';
import { costOfImages } from '../pricing/cost.ts';
import { inOrder, Turns } from '../routing/candidates.ts';
import { answerImages } from './answer.ts';
import { makersOf, orderOf } from './order.ts';
import { type ImageRequest, parseImages } from './parse.ts';

export async function createImages(request: Request, context: RequestContext): Promise<Response> {
  const { services, id } = context;
  const key = await context.authenticate('api_keys_lookup_failed');
  readQuery(request.url, []);
  const payer = { budget: services.bodies, accountId: key.accountId };
  const body = await readJsonBody(request, { payer });
  const wanted = parseImages(body);
  services.admitter.refuseWhoMustWait(key);
  context.waitPatiently();
  return await services.idempotency.once(
    request,
    {
      id,
      keyId: key.id,
      route: 'images',
      body,
      countReplay: () => services.admitter.countReplay(key, id),
    },
    (claim) => create(request, context, key, wanted, claim),
  );
}

async function create(
  request: Request,
  { services, id, requestId, noteRate }: RequestContext,
  key: ApiKey,
  wanted: ImageRequest,
  claim: Claim | null,
): Promise<Response> {
  const active = services.catalog();
  const model = resolveModel(active.catalog, wanted.model, 'image', {
    allowedModels: key.allowedModels,
    // Being configured is not enough here: makersOf tells apart who lacks a key and who has no images.
    isProviderConfigured: () => true,
  });
  const { price } = model;
  if (price.billingType !== 'image') throw new ApiError('model_pricing_not_configured', { param: 'model' });
  const order = orderOf(wanted, model, makersOf(model, active));
  const priceListId = await active.priceList.number();
  const hold = costOfImages(price, order.call.count, order.tier);
  const turns = new Turns(inOrder(order.makers, Math.random), key.accountId);
  const { generation, rate } = await services.admitter.admit({
    id,
    key,
    workload: 'image',
    model: model.id,
    streaming: false,
    priceListId,
    provider: order.makers[0]?.connection.provider.name ?? '',
    turn: turns.current,
    claimedName: claim?.request.name ?? null,
    hold: { least: hold, most: hold },
    advice: (available) => adviceFor(costOfImages(price, 1, order.tier), available),
  });
  noteRate(rate);
  if (request.signal.aborted) {
    await generation.abandon();
    return new Response();
  }
  const run = { requestId, order, price, generation, turns, claim, client: request.signal };
  return await answerImages(run, services.noteAttempts);
}

/** What a client that has no more than this can do. */
function adviceFor(unitPrice: Money, available: Money): string | null {
  const count = unitPrice > 0n ? available / unitPrice : 0n;
  return count < 1n ? null : `With n ${count} or less it fits.`;
}
