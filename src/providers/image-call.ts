/** Makes one call to one image provider, whichever format it speaks. */

import type { Link } from './call.ts';
import { googleImages } from './google-images.ts';
import type { ImageAdapter, ImageAnswer, ImageCall } from './images.ts';
import { openaiImages } from './openai-images.ts';
import { postForJson, withStatus } from './transport.ts';
import type { Upstream } from './upstream.ts';

/** One line a wire format, by its name in the catalogue. Null for a format that has no images. */
export const imageAdapters = {
  openai: openaiImages,
  anthropic: null,
  google: googleImages,
  sandbox: openaiImages,
} satisfies Record<string, ImageAdapter | null>;

export async function makeImages(
  adapter: ImageAdapter,
  link: Link,
  call: ImageCall,
  upstream: Upstream,
): Promise<{ status: number; answer: ImageAnswer }> {
  const { status, body } = await postForJson(adapter.imageRequest(call, upstream), link);
  try {
    return { status, answer: adapter.readImages(body) };
  } catch (error) {
    throw withStatus(error, status);
  }
}
