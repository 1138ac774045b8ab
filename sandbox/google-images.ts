/** Imagen in Google's format: POST /v1beta/models/{model}:predict, with the images inline. */

import type { Call, Endpoint } from './endpoint.ts';
import { BadRequest } from './errors.ts';
import { readArray, readBody, readObject, readString, rejectUnknown } from './fields.ts';
import { google } from './google-wire.ts';
import { sendJson } from './json-answer.ts';
import { imageSeed, makePng } from './png.ts';

type ImageRequest = Readonly<{ prompt: string; width: number; height: number; count: number }>;

const knownFields = new Set(['instances', 'parameters']);
const instanceFields = new Set(['prompt']);
const parameterFields = new Set([
  'addWatermark',
  'aspectRatio',
  'enhancePrompt',
  'imageSize',
  'includeRaiReason',
  'includeSafetyAttributes',
  'language',
  'negativePrompt',
  'outputOptions',
  'personGeneration',
  'safetySetting',
  'sampleCount',
  'sampleImageSize',
  'seed',
]);
const sizes: ReadonlyMap<unknown, readonly [number, number]> = new Map([
  ['1:1', [1024, 1024]],
  ['3:4', [896, 1280]],
  ['4:3', [1280, 896]],
  ['9:16', [768, 1408]],
  ['16:9', [1408, 768]],
]);
const scales: ReadonlyMap<unknown, number> = new Map([
  ['1K', 1],
  ['2K', 2],
]);
const maxImages = 4;

export const googleImages: Endpoint<ImageRequest> = {
  format: google,
  read: readRequest,
  userText: ({ prompt }) => prompt,
  answer: answerRequest,
};

function readRequest(body: unknown): ImageRequest {
  const fields = readBody(body, knownFields);
  const [first, ...others] = readArray(fields.instances, 'instances');
  const instance = readObject(first, 'instances[0]');
  rejectUnknown(instance, instanceFields, 'instances[0]');
  const prompt = readString(instance.prompt, 'instances[0].prompt');
  if (others.length > 0 || prompt === '')
    throw new BadRequest('Exactly one non-empty prompt is required.', 'instances');

  const parameters = fields.parameters === undefined ? {} : readObject(fields.parameters, 'parameters');
  rejectUnknown(parameters, parameterFields, 'parameters');
  const { sampleCount: count = maxImages, aspectRatio = '1:1', imageSize, sampleImageSize } = parameters;
  if (typeof count !== 'number' || !Number.isInteger(count) || count < 1 || count > maxImages) {
    throw new BadRequest(`The count must be from 1 to ${maxImages}.`, 'parameters.sampleCount');
  }
  const size = sizes.get(aspectRatio);
  const scale = scales.get(imageSize ?? sampleImageSize ?? '1K');
  if (!size) throw new BadRequest('Unknown aspect ratio.', 'parameters.aspectRatio');
  if (!scale) throw new BadRequest('Unknown size.', 'parameters.imageSize');
  return { prompt, width: size[0] * scale, height: size[1] * scale, count };
}

function answerRequest(call: Call<ImageRequest>): Response {
  const { input, reading } = call;
  const count = Math.max(0, input.count - (reading.scenario.fewer ?? 0));
  const predictions = Array.from({ length: count }, (_, index) => ({
    mimeType: 'image/png',
    bytesBase64Encoded: makePng(input.width, input.height, imageSeed(reading.plainText, index)).toString(
      'base64',
    ),
  }));
  // Like Google, omit an empty list.
  return sendJson(call, JSON.stringify(count > 0 ? { predictions } : {}), { images: count });
}
