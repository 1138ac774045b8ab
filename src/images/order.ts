/** Which images to make, and which candidates can make them. Anything not offered is rejected by name, before any hold. */
import { ApiError } from '../errors.ts';
import { notConfigured } from '../models/access.ts';
import type { Model } from '../models/model.ts';
import { imageAdapters } from '../providers/image-call.ts';
import type { ImageAdapter, ImageCall } from '../providers/images.ts';
import type { ActiveCatalog } from '../routing/active-catalog.ts';
import type { Candidate } from '../routing/candidates.ts';
import { docs, type ImageRequest } from './parse.ts';

/** A candidate whose wire format has images. */
export type ImageMaker = Candidate & Readonly<{ connection: Readonly<{ images: ImageAdapter }> }>;

export function isMaker(candidate: Candidate): candidate is ImageMaker {
  return candidate.connection.images !== null;
}

/** A model that none of its providers could ever serve is a configuration error; one without a key may be served later. */
export function makersOf(
  model: Model,
  { catalog, candidates, keyProblems }: ActiveCatalog,
): readonly ImageMaker[] {
  const makers = (candidates.get(model.id) ?? []).filter(isMaker);
  if (makers.length > 0) return makers;
  const couldMake = model.routes.filter(({ providerId }) => {
    const provider = catalog.providers.get(providerId);
    return provider !== undefined && imageAdapters[provider.adapter] !== null;
  });
  throw couldMake.length > 0
    ? notConfigured(catalog, couldMake, keyProblems)
    : new ApiError('configuration_error', { param: 'model' });
}

export type ImageOrder = Readonly<{
  call: ImageCall;
  /** The rate that the size is charged at; null for the plain unit price. */
  tier: string | null;
  /** Those that can make the whole order. */
  makers: readonly ImageMaker[];
}>;

/** Checks a request against what the model offers and what its providers support. */
export function orderOf(
  { prompt, size, count }: ImageRequest,
  { sizes, maxImages }: Pick<Model, 'sizes' | 'maxImages'>,
  makers: readonly ImageMaker[],
): ImageOrder {
  if (count > maxImages)
    throw new ApiError('invalid_n', {
      param: 'n',
      message: `The parameter n is invalid: this model makes at most ${maxImages} at once.`,
      docs,
    });
  const names = [...sizes.keys()];
  const call = { prompt, size: size ?? names[0] ?? '', count };
  const tier = sizes.get(call.size);
  const able = makers.filter((maker) => unsupportedBy(maker, call) === null);
  if (tier !== undefined && able.length > 0) return { call, tier, makers: able };

  const [first] = makers.map((maker) => unsupportedBy(maker, call));
  if (tier !== undefined && first && first.param !== 'size')
    throw new ApiError('unsupported_parameter', { ...first, docs });
  throw new ApiError('invalid_size', {
    param: 'size',
    message: `The parameter size is invalid: this model offers ${offeredSizes({ sizes }, makers, call).join(', ') || 'no size'}.`,
    docs,
  });
}

/** The sizes of a model that at least one of its providers can make. */
export function offeredSizes(
  { sizes }: Pick<Model, 'sizes'>,
  makers: readonly ImageMaker[],
  { prompt, count }: Pick<ImageCall, 'prompt' | 'count'> = { prompt: '', count: 1 },
): readonly string[] {
  return [...sizes.keys()].filter((size) =>
    makers.some((maker) => unsupportedBy(maker, { prompt, size, count }) === null),
  );
}

function unsupportedBy({ connection }: ImageMaker, call: ImageCall) {
  return connection.images.unsupported(call);
}
