/** OpenAI's format for images. Fixtures follow platform.openai.com/docs/api-reference/images, with other values. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { openaiImages } from '../../src/providers/openai-images.ts';
import { defaultDialect, ProviderError, type Upstream } from '../../src/providers/upstream.ts';

const upstream: Upstream = {
  baseUrl: 'https://api.example/v1',
  apiKey: 'secret',
  model: 'dall-e-3',
  maxOutputTokens: null,
  dialect: defaultDialect,
  requestId: 'req_0198c1f2a3b4c5d6e7f8091a2b3c4d5e',
};
const fixture = (name: string): unknown =>
  JSON.parse(readFileSync(join(import.meta.dir, 'fixtures', 'openai', name), 'utf8'));

test('the request has what every model takes, and no response_format', () => {
  const call = { prompt: 'A lighthouse', size: '1024x1024', count: 2 };
  expect(openaiImages.unsupported(call)).toBeNull();
  const { url, headers, body } = openaiImages.imageRequest(call, upstream);
  expect(url).toBe('https://api.example/v1/images/generations');
  expect(headers).toEqual({
    'content-type': 'application/json',
    'accept-encoding': 'identity',
    'x-client-request-id': 'req_0198c1f2a3b4c5d6e7f8091a2b3c4d5e',
    authorization: 'Bearer secret',
  });
  expect(JSON.parse(body)).toEqual({ model: 'dall-e-3', prompt: 'A lighthouse', n: 2, size: '1024x1024' });
});

test('an address stays an address', () => {
  expect(openaiImages.readImages(fixture('images-url.json'))).toEqual({
    urls: ['https://images.example/private/lighthouse-1.png?sig=abc'],
  });
});

test('an image sent along becomes a data: URL of its format', () => {
  expect(openaiImages.readImages(fixture('images-data.json'))).toEqual({
    urls: ['data:image/webp;base64,iVBORw0KGgo=', 'data:image/webp;base64,AAECAwQFBgc='],
  });
});

test.each([undefined, 'png', 'image/svg+xml,<script>', 5])(
  'the format %p is taken for PNG',
  (outputFormat) => {
    const body = { data: [{ b64_json: 'AA==' }], output_format: outputFormat };
    expect(openaiImages.readImages(body).urls).toEqual(['data:image/png;base64,AA==']);
  },
);

test('what is not an image is skipped', () => {
  const data = [
    null,
    {},
    { url: '' },
    { url: 'javascript:alert(1)' },
    { url: null, b64_json: 'AA==' },
    { b64_json: '' },
    'x',
  ];
  expect(openaiImages.readImages({ data }).urls).toEqual(['data:image/png;base64,AA==']);
});

function codeOf(body: unknown): string | null {
  try {
    openaiImages.readImages(body);
    return null;
  } catch (error) {
    if (error instanceof ProviderError) return error.code;
    throw error;
  }
}

test.each([
  ['null', null],
  ['a list', []],
  ['nothing', {}],
  ['an empty list', { data: [] }],
  ['items without an image', { data: [{}] }],
  ['no list', { data: {} }],
  ['an error', { error: { message: 'x' } }],
])('an answer without an image is a failure: %s', (_title, body) => {
  expect(codeOf(body)).toBe('provider_error');
});

test('only a ProviderError comes of any other JSON', () => {
  const item = fc.dictionary(fc.constantFrom('url', 'b64_json'), fc.jsonValue());
  const body = fc.oneof(fc.jsonValue(), fc.record({ data: fc.array(item), output_format: fc.jsonValue() }));
  fc.assert(
    fc.property(body, (value) => {
      codeOf(value);
    }),
  );
});
