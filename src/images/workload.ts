/** POST /v1/images/generations as a workload of inference/request.ts. */
import { ApiError } from '../errors.ts';
import { checkDirectives } from '../inference/sandbox-directives.ts';
import type { Plan, Workload } from '../inference/workload.ts';
import { accessTo, findModel } from '../models/access.ts';
import { costOfImages } from '../pricing/cost.ts';
import type { ImagePrice } from '../pricing/price.ts';
import { providerCostOfImages } from '../pricing/provider-cost.ts';
import { makeImages } from '../providers/image-call.ts';
import type { ImageAnswer } from '../providers/images.ts';
import { ProviderError } from '../providers/upstream.ts';
import { upstreamOf } from '../routing/candidates.ts';
import { type ImageOrder, isMaker, makersOf, orderOf } from './order.ts';
import { type ImageRequest, parseImages } from './parse.ts';

type ImageJob = Readonly<{ order: ImageOrder; price: ImagePrice }>;

export const imageWorkload: Workload<ImageRequest, Plan & ImageJob, ImageJob, ImageAnswer> = {
  name: 'image',
  api: 'images',
  route: 'images',
  parse: parseImages,
  isStreamed: () => false,
  plan: (wanted, active, allowedModels) => {
    // makersOf distinguishes a provider without a key from one without images.
    const model = findModel(
      active.catalog,
      wanted.model,
      'image',
      accessTo(active.connections, allowedModels),
    );
    const { price } = model;
    if (price.billingType !== 'image') throw new ApiError('model_pricing_not_configured', { param: 'model' });
    const order = orderOf(wanted, model, makersOf(model, active));
    checkDirectives(order.makers, () => wanted.prompt, 'prompt');
    const cost = costOfImages(price, order.call.count, order.tier);
    const hold = { min: cost, max: cost };
    return { model: model.id, candidates: order.makers, hold, conversation: null, order, price };
  },
  advice: ({ order, price }, available) => {
    const unitCost = costOfImages(price, 1, order.tier);
    const count = unitCost > 0n ? available / unitCost : 0n;
    return count < 1n ? null : `Set n to ${count} or less.`;
  },
  accept: ({ order, price }) => ({ order, price }),
  call: async ({ order }, candidate, origin) => {
    if (!isMaker(candidate)) throw new Error('A provider without images was asked for some.');
    const { images, link } = candidate.connection;
    return await makeImages(images, link, order.call, upstreamOf(candidate, origin, null)).catch(
      (error: unknown) => {
        throw error instanceof ProviderError ? imageFailure(error) : error;
      },
    );
  },
  /** By the number of images received. An image is output: the prompt itself costs nothing. */
  bill: ({ order, price }, { urls }, _finishedAt, providerPrice) => {
    const { tier } = order;
    const units = wantedOf(order, urls).length;
    const total = costOfImages(price, units, tier);
    return {
      usage: { inputTokens: 0, outputTokens: 0, cached: null, units, unit: 'images', tier },
      cost: { input: 0n, output: total, total, cached: null },
      reported: {
        usage: { inputTokens: 0, outputTokens: 0, cached: null },
        cost: providerCostOfImages(providerPrice, urls.length, tier),
      },
      loss: null,
    };
  },
  present: ({ order }, { urls }, _charge, _requestId, createdSeconds) => ({
    created: createdSeconds,
    data: wantedOf(order, urls).map((url) => ({ url })),
  }),
  stream: null,
};

/** Nothing was held for images that were not asked for: they are neither passed on nor charged. */
function wantedOf({ call }: ImageOrder, urls: readonly string[]): readonly string[] {
  return urls.slice(0, call.count);
}

/**
 * The contract has one code for image providers that cannot be reached or understood. An error status from the provider,
 * and a timeout, keep the codes that they have elsewhere.
 */
export function imageFailure(problem: ProviderError): ProviderError {
  const { code, upstreamStatus } = problem;
  const hasErrorStatus = upstreamStatus !== null && upstreamStatus >= 500;
  if (code !== 'provider_unknown_error' && (code !== 'provider_unavailable' || hasErrorStatus))
    return problem;
  return new ProviderError('provider_error', problem);
}
