/**
 * The wire format of OpenAI's image generations. Documented at platform.openai.com/docs/api-reference/images. No
 * response_format is sent: GPT Image models reject the field and always send the image inline, and DALL·E sends a URL
 * when it is left out.
 */
import type { ImageAdapter, ImageAnswer, ImageCall } from './images.ts';
import { bearerHeaders } from './openai-request.ts';
import { readOpenaiError } from './operator-faults.ts';
import { ProviderError, type Upstream, type UpstreamRequest } from './upstream.ts';
import { arrayAt, isObject } from './wire.ts';

export const openaiImages: ImageAdapter = { unsupported: () => null, imageRequest, readImages };

function imageRequest({ prompt, size, count }: ImageCall, upstream: Upstream): UpstreamRequest {
  return {
    url: `${upstream.baseUrl}/images/generations`,
    headers: bearerHeaders(upstream),
    // Images have no other field for whom they are for.
    body: JSON.stringify({ model: upstream.model, prompt, n: count, size, user: upstream.endUser?.id }),
    readError: readOpenaiError,
  };
}

function readImages(body: unknown): ImageAnswer {
  const type = imageType(isObject(body) ? body.output_format : null);
  const urls = arrayAt(body, 'data').flatMap((item) => {
    if (!isObject(item)) return [];
    if (typeof item.url === 'string' && /^(https?:\/\/|data:image\/)/i.test(item.url)) return [item.url];
    return typeof item.b64_json === 'string' && item.b64_json !== ''
      ? [`data:${type};base64,${item.b64_json}`]
      : [];
  });
  if (urls.length === 0) throw new ProviderError('provider_error', { isProvoked: true });
  return { urls };
}

/** PNG is the default. */
function imageType(outputFormat: unknown): string {
  return outputFormat === 'jpeg' || outputFormat === 'webp' ? `image/${outputFormat}` : 'image/png';
}
