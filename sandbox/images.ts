/** POST /v1/images/generations, and the images that its responses link to. */

import type { Call, Endpoint } from './endpoint.ts';
import { BadRequest, privateHeaders } from './errors.ts';
import { isObject } from './fields.ts';
import { sendJson } from './json-answer.ts';
import { openai } from './openai-wire.ts';
import { imageSeed, makePng } from './png.ts';

type ImageRequest = { model: string; prompt: string; size: string; count: number };

const maxSide = 4096;

export const images: Endpoint<ImageRequest> = {
  format: openai,
  read: readRequest,
  userText: (input) => input.prompt,
  answer: answerRequest,
};

function readRequest(body: unknown): ImageRequest {
  if (!isObject(body)) throw new BadRequest('The body must be a JSON object.', null);
  const { model, prompt, n: count = 1, size = '1024x1024' } = body;
  if (typeof model !== 'string' || model === '') throw new BadRequest('A model is required.', 'model');
  if (typeof prompt !== 'string' || prompt === '') throw new BadRequest('A prompt is required.', 'prompt');
  if (typeof count !== 'number' || !Number.isInteger(count) || count < 1 || count > 10) {
    throw new BadRequest('The count must be from 1 to 10.', 'n');
  }
  if (typeof size !== 'string' || readSize(size) === null) throw new BadRequest('Unknown size.', 'size');
  return { model, prompt, size, count };
}

function answerRequest(call: Call<ImageRequest>): Response {
  const { input, reading, baseUrl } = call;
  const count = Math.max(0, input.count - (reading.scenario.fewer ?? 0));
  // The name contains everything needed to draw the image, so nothing has to be stored.
  const data = Array.from({ length: count }, (_, index) => {
    const seed = imageSeed(reading.plainText, index).toString(16).padStart(8, '0');
    return { url: `${baseUrl}/images/${input.size}-${seed}.png` };
  });
  const created = Math.floor(Date.now() / 1000);
  return sendJson(call, JSON.stringify({ created, data }), { images: count });
}

export function serveImage(name: string): Response {
  const [, sizeText = '', seed = ''] = /^(\d+x\d+)-([0-9a-f]{8})\.png$/.exec(name) ?? [];
  const size = readSize(sizeText);
  if (size === null) return new Response('No such image.', { status: 404, headers: privateHeaders });
  const png = makePng(size.width, size.height, Number.parseInt(seed, 16));
  const headers = { 'content-type': 'image/png', 'cache-control': 'max-age=3600', ...privateHeaders };
  return new Response(png, { headers });
}

function readSize(text: string): { width: number; height: number } | null {
  const [width = 0, height = 0] = /^\d{1,4}x\d{1,4}$/.test(text) ? text.split('x').map(Number) : [];
  const fits = width >= 1 && height >= 1 && width <= maxSide && height <= maxSide;
  return fits ? { width, height } : null;
}
