/** What the gateway asks of an image provider and what it gets back, in its own terms. Adapters are pure here too. */
import type { Unsupported, Upstream, UpstreamRequest } from './upstream.ts';

/** `size` is one that the catalogue offers for the model, such as 1024x1024. */
export type ImageCall = Readonly<{ prompt: string; size: string; count: number }>;

/** URLs of images: where the provider stores them, or `data:` when it sent them inline. */
export type ImageAnswer = Readonly<{ urls: readonly string[] }>;

export type ImageAdapter = Readonly<{
  /** The first thing in this call that the format does not support, or null. */
  unsupported: (call: ImageCall) => Unsupported | null;
  imageRequest: (call: ImageCall, upstream: Upstream) => UpstreamRequest;
  /** Reads the JSON body of an answer; throws a ProviderError when it holds no image. */
  readImages: (body: unknown) => ImageAnswer;
}>;
