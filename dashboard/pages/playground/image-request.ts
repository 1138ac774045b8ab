/** Images: the form, the request that it becomes, and the result. */
import type { ListedModel } from '../models/models.ts';
import type { Ending } from './conversation.ts';

/** As it was typed or chosen. A size or count that the model does not offer means its default. */
export type ImageForm = Readonly<{ prompt: string; size: string; count: string }>;

export type ImageResult = Readonly<{
  /** Identifies it on the screen. */
  number: number;
  prompt: string;
  urls: readonly string[];
  requestId: string | null;
  ending: Ending | null;
}>;

export type ImageRequestBody = Readonly<{ model: string; prompt: string; size: string; n: number }>;

type ImageModel = Pick<ListedModel, 'id' | 'sizes' | 'max_images'>;

export function countsOf({ max_images: max }: ImageModel): readonly string[] {
  return Array.from({ length: max }, (_, at) => `${at + 1}`);
}

export function imageRequestOf(model: ImageModel, { prompt, size, count }: ImageForm): ImageRequestBody {
  return {
    model: model.id,
    prompt: prompt.trim(),
    size: model.sizes.find((offered) => offered === size) ?? model.sizes[0] ?? '',
    n: countsOf(model).includes(count) ? Number(count) : 1,
  };
}

/** The images in a response. Anything else in it is ignored. */
export function urlsIn(body: unknown): readonly string[] {
  const { data } = body as Readonly<{ data?: readonly Readonly<{ url?: unknown }>[] }>;
  return (data ?? []).map(({ url }) => url).filter((url) => typeof url === 'string');
}

/** Inline images may have some megabytes each. */
const maxResults = 10;

export function withResult(results: readonly ImageResult[], result: ImageResult): readonly ImageResult[] {
  const others = results.filter(({ number }) => number !== result.number);
  return [...others, result].slice(-maxResults);
}
