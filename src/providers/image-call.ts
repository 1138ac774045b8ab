/** Makes one call to one image provider, whichever format it speaks. */
import type { Link } from './call.ts';
import { googleImages } from './google-images.ts';
import type { ImageAdapter, ImageAnswer, ImageCall } from './images.ts';
import { openaiImages } from './openai-images.ts';
import { postForAnswer } from './transport.ts';
import { cancellable, type Upstream } from './upstream.ts';

/** One entry per wire format, by its name in the catalogue. Null for a format without images. */
export const imageAdapters = {
  openai: openaiImages,
  anthropic: null,
  google: googleImages,
  sandbox: openaiImages,
} satisfies Record<string, ImageAdapter | null>;

export function makeImages(
  adapter: ImageAdapter,
  link: Link,
  call: ImageCall,
  upstream: Upstream,
): Promise<{ status: number; answer: ImageAnswer }> {
  return postForAnswer(cancellable(adapter.imageRequest(call, upstream), upstream), link, adapter.readImages);
}
