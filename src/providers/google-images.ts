/** The wire format of Google's Imagen models. Documented at ai.google.dev/gemini-api/docs/imagen. */
import { postTo } from './google-request.ts';
import type { ImageAdapter, ImageAnswer, ImageCall } from './images.ts';
import { ProviderError, type Unsupported, type Upstream, type UpstreamRequest } from './upstream.ts';
import { arrayAt, isObject } from './wire.ts';

export const googleImages: ImageAdapter = { unsupported, imageRequest, readImages };

/** The models take an aspect ratio; these are the sizes documented for each. */
const aspectRatios: ReadonlyMap<string, string> = new Map([
  ['1024x1024', '1:1'],
  ['896x1280', '3:4'],
  ['1280x896', '4:3'],
  ['768x1408', '9:16'],
  ['1408x768', '16:9'],
]);

function unsupported({ size }: ImageCall): Unsupported | null {
  if (aspectRatios.has(size)) return null;
  const sizes = [...aspectRatios.keys()].join(', ');
  return { param: 'size', message: `This model makes images of these sizes only: ${sizes}.` };
}

function imageRequest({ prompt, size, count }: ImageCall, upstream: Upstream): UpstreamRequest {
  return postTo(upstream, 'predict', {
    instances: [{ prompt }],
    parameters: { sampleCount: count, aspectRatio: aspectRatios.get(size) },
  });
}

/** A prediction that the vendor's filters blocked has no image, or is missing. */
function readImages(body: unknown): ImageAnswer {
  const urls = arrayAt(body, 'predictions').flatMap((prediction) => {
    const url = readImage(prediction);
    return url === null ? [] : [url];
  });
  if (urls.length === 0) throw new ProviderError('provider_error', { isProvoked: true });
  return { urls };
}

/** The type and the data become part of a URL, so they are checked strictly. */
function readImage(prediction: unknown): string | null {
  if (!isObject(prediction)) return null;
  const { mimeType, bytesBase64Encoded: data } = prediction;
  if (typeof mimeType !== 'string' || !/^image\/[a-z0-9.+-]+$/.test(mimeType)) return null;
  if (typeof data !== 'string' || !/^[A-Za-z0-9+/]+={0,2}$/.test(data)) return null;
  return `data:${mimeType};base64,${data}`;
}
