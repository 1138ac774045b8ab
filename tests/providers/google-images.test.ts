/** The Imagen format both ways. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { googleImages } from '../../src/providers/google-images.ts';
import { defaultDialect, ProviderError, type Upstream } from '../../src/providers/upstream.ts';

const upstream: Upstream = {
  baseUrl: 'https://example.test/v1beta',
  apiKey: 'key-canary',
  model: 'imagen-4.0-generate-001',
  maxOutputTokens: null,
  dialect: defaultDialect,
  requestId: 'req_0198c5a1b2c37d4e8f90a1b2c3d4e5f6',
};

const call = { prompt: 'A boat', size: '1024x1024', count: 1 };

// docs.cloud.google.com/vertex-ai/generative-ai/docs/models/imagen/4-0-generate, image ratios and resolutions
test.each([
  ['1024x1024', '1:1'],
  ['896x1280', '3:4'],
  ['1280x896', '4:3'],
  ['768x1408', '9:16'],
  ['1408x768', '16:9'],
])('%s is the ratio %s', (size, aspectRatio) => {
  expect(googleImages.unsupported({ ...call, size })).toBeNull();
  const request = googleImages.imageRequest({ prompt: 'A boat', size, count: 3 }, upstream);
  expect(JSON.parse(request.body)).toEqual({
    instances: [{ prompt: 'A boat' }],
    parameters: { sampleCount: 3, aspectRatio },
  });
});

test('address and headers', () => {
  const { url, headers } = googleImages.imageRequest(call, upstream);
  expect(url).toBe('https://example.test/v1beta/models/imagen-4.0-generate-001:predict');
  expect(headers).toEqual({
    'content-type': 'application/json',
    'accept-encoding': 'identity',
    'x-client-request-id': upstream.requestId,
    'x-goog-api-key': 'key-canary',
  });
  const keyless = googleImages.imageRequest(call, { ...upstream, apiKey: null });
  expect(Object.keys(keyless.headers)).not.toContain('x-goog-api-key');
});

test.each(['512x512', '1024x1024 ', '', '2048x2048', '__proto__'])('another size: %s', (size) => {
  expect(googleImages.unsupported({ ...call, size })).toEqual({
    param: 'size',
    message:
      'This model makes images of these sizes only: 1024x1024, 896x1280, 1280x896, 768x1408, 1408x768.',
  });
});

// ai.google.dev/gemini-api/docs/imagen
test('images become URLs, and withheld ones are left out', () => {
  const body: unknown = JSON.parse(
    readFileSync(join(import.meta.dir, 'fixtures/google/images.json'), 'utf8'),
  );
  expect(googleImages.readImages(body)).toEqual({
    urls: ['data:image/png;base64,iVBORw0KGgo=', 'data:image/jpeg;base64,/9j/4AAQ'],
  });
});

function codeOf(body: unknown): string | null {
  try {
    googleImages.readImages(body);
    return null;
  } catch (error) {
    expect(error).toBeInstanceOf(ProviderError);
    return (error as ProviderError).code;
  }
}

const prediction = (mimeType: unknown, bytesBase64Encoded: unknown) => ({
  predictions: [{ mimeType, bytesBase64Encoded }],
});

test.each([
  ['nothing', {}],
  ['no object', null],
  ['an error', { error: { code: 400 } }],
  ['no prediction', { predictions: [] }],
  ['held back only', { predictions: [{ raiFilteredReason: 'x' }] }],
  ['a page', prediction('text/html', 'AAAA')],
  ['a type with more in it', prediction('image/png;base64,x"', 'AAAA')],
  ['no type', prediction(undefined, 'AAAA')],
  ['no data', prediction('image/png', undefined)],
  ['empty data', prediction('image/png', '')],
  ['data that is no base64', prediction('image/png', 'AA"onload=')],
])('no image: %s', (_name, body) => {
  expect(codeOf(body)).toBe('provider_error');
});

test('garbage gives a ProviderError, and whatever is read is an image', () => {
  const json = fc.jsonValue({ maxDepth: 2 });
  const item = fc.record({
    mimeType: fc.oneof(json, fc.constantFrom('image/png', 'text/html')),
    bytesBase64Encoded: fc.oneof(json, fc.base64String({ minLength: 4 })),
  });
  let images = 0;
  fc.assert(
    fc.property(fc.oneof(json, fc.record({ predictions: fc.array(fc.oneof(json, item)) })), (body) => {
      if (codeOf(body) !== null) return;
      for (const url of googleImages.readImages(body).urls) {
        images++;
        expect(url).toMatch(/^data:image\/png;base64,[A-Za-z0-9+/]+=*$/);
      }
    }),
    { numRuns: 500 },
  );
  expect(images).toBeGreaterThan(0);
});
