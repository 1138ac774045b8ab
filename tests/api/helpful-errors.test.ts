/** Errors that clients of other APIs meet first: the code is the contract's, the message says what to do. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import OpenAI from 'openai';
import { type ChatFixture, chatCatalog, type ErrorBody, openChatFixture } from '../support/chat-fixture.ts';
import { type Gateway, startGateway, temporaryFolder } from '../support/gateway.ts';

let fixture: ChatFixture;
let named: Gateway;
let key: string;

beforeAll(async () => {
  fixture = await openChatFixture((url) =>
    chatCatalog(url, {
      providers: '',
      models:
        '  film: { workload: video, pricing: { billing_type: second, unit_price: "0.1" }, providers: [main] }',
    }),
  );
  named = await startGateway({
    ...fixture.environment,
    TOLLGATE_DATA: temporaryFolder(),
    PUBLIC_URL: 'https://gateway.example.com',
  });
  ({ key } = await fixture.customer('10', '--rpm', '100000'));
});

afterAll(async () => {
  await named.stop();
  await fixture.close();
});

async function errorOf(method: string, path: string, body?: object, origin = fixture.gateway.origin) {
  const response = await fetch(`${origin}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, ...((await response.json()) as ErrorBody).error };
}

const chat = (fields: object, origin?: string) =>
  errorOf(
    'POST',
    '/v1/chat/completions',
    { model: 'full', messages: [{ role: 'user', content: 'x' }], ...fields },
    origin,
  );

describe('400', () => {
  test.each([
    [
      { max_completion_tokens: 5 },
      'unsupported_parameter',
      'max_completion_tokens',
      'The parameter max_completion_tokens is not supported: use max_tokens. Your client may have renamed it. See /docs/clients#max-tokens',
    ],
    [
      { n: 2 },
      'unsupported_parameter',
      'n',
      'The parameter n is not supported. See /docs/clients#rejected-parameters',
    ],
    [
      { messages: [{ role: 'developer', content: 'x' }] },
      'invalid_parameter',
      'messages[0].role',
      'The role "developer" of messages[0] is not supported: use "system". See /docs/clients#messages',
    ],
    [
      { stop: ['a', 'b', 'c', 'd', 'e'] },
      'invalid_parameter',
      'stop',
      'The parameter stop is invalid: expected a non-empty string, an array of 1 to 4 of them, or null, got 5 of at most 4. See /docs/chat#parameters',
    ],
    [
      { tool_choice: 'required' },
      'unsupported_parameter',
      'tool_choice',
      'The tool_choice "required" is not supported: use "auto" or name a function. See /docs/clients#tool-choice',
    ],
    [{ model: 'disabled' }, 'invalid_model', 'model', 'The model disabled is disabled.'],
    [
      { model: 'picture' },
      'invalid_model',
      'model',
      'The model picture makes images: use POST /v1/images/generations.',
    ],
    [
      { model: 'film' },
      'invalid_model',
      'model',
      'The model film makes videos, for which there is no endpoint.',
    ],
  ])('%j', async (fields, code, param, message) => {
    expect(await chat(fields)).toEqual({ status: 400, type: 'invalid_request_error', code, param, message });
  });

  test.each([
    [{ size: 'big' }, 'invalid_size', '/docs/images#parameters'],
    [{ n: 9 }, 'invalid_n', '/docs/images#parameters'],
    [{ response_format: 'b64_json' }, 'unsupported_parameter', '/docs/images#parameters'],
    [{ response_format: 'file' }, 'invalid_response_format', '/docs/images#parameters'],
    [{ quality: 'hd' }, 'unsupported_parameter', '/docs/images#parameters'],
    [{ prompt: 7 }, 'invalid_parameter', '/docs/images#parameters'],
  ])('of images: %j', async (fields, code, section) => {
    const body = { model: 'picture', prompt: 'A cat', size: '1024x1024', ...fields };
    const error = await errorOf('POST', '/v1/images/generations', body);
    expect(error.code).toBe(code);
    expect(error.message).toEndWith(` See ${section}`);
  });

  const jsonType = { 'content-type': 'application/json' };
  test.each([
    ['that are no JSON', '{broken', jsonType, 'invalid_json', 1],
    ['that are no object', '[]', jsonType, 'invalid_request', 1],
    ['with a key twice', '{"a":1,"a":2}', jsonType, 'invalid_parameter', 1],
    ['of another type', '{}', { 'content-type': 'text/plain' }, 'invalid_request', 1],
    ['that are compressed', '{}', { ...jsonType, 'content-encoding': 'gzip' }, 'invalid_request', 1],
    ['that are too large', 'x', jsonType, 'invalid_request', 21 * 1024 * 1024],
  ])('of bodies %s', async (_name, text, headers, code, times) => {
    const body = text.repeat(times);
    for (const path of ['chat/completions', 'images/generations']) {
      const response = await fetch(`${fixture.gateway.origin}/v1/${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, ...headers },
        body,
      });
      const { error } = (await response.json()) as ErrorBody;
      expect([response.status, error.code, error.message]).toEqual([
        400,
        code,
        expect.stringMatching(/ See \/docs\/chat#bodies$/),
      ]);
    }
  });

  test('a chat model does not make images', async () => {
    const body = { model: 'full', prompt: 'A cat', size: '1024x1024' };
    expect(await errorOf('POST', '/v1/images/generations', body)).toMatchObject({
      code: 'invalid_model',
      message: 'The model full is for chat: use POST /v1/chat/completions.',
    });
  });

  test('a link has the public address of the gateway, where one is configured', async () => {
    const { message } = await chat({ max_completion_tokens: 5 }, named.origin);
    expect(message).toEndWith(' See https://gateway.example.com/docs/clients#max-tokens');
  });

  test('the link leads to a page with that section', async () => {
    const { message } = await chat({ max_completion_tokens: 5 });
    const [, path = '', anchor = ''] = /(\/docs\/\w+)#([\w-]+)$/.exec(message) ?? [];
    const page = await fetch(`${fixture.gateway.origin}${path}`);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(await page.text()).toContain(` id="${anchor}"`);
  });
});

describe('404', () => {
  test.each([
    ['POST', '/v1/responses', 'Responses API is not supported: use POST /v1/chat/completions.'],
    ['POST', '/v1/embeddings', 'embeddings are not supported.'],
    ['POST', '/v1/messages', 'Messages API is not supported'],
    ['POST', '/chat/completions', 'use /v1/chat/completions.'],
    ['POST', '/v1/v1/chat/completions', 'leave it out of the base URL.'],
    ['GET', '/v1/chat/completions', 'use POST.'],
    ['DELETE', '/v1/models/full', 'use GET.'],
    ['POST', '/v1/chat/completions/', 'leave out the slash at the end.'],
    ['GET', '/v1/models/', 'leave out the slash at the end.'],
    ['GET', '/v1/nothing', ' does not exist.'],
  ])('%s %s', async (method, path, cure) => {
    const error = await errorOf(method, path);
    expect(error).toMatchObject({ status: 404, type: 'invalid_request_error', code: 'not_found' });
    expect(error.message).toStartWith(`${method} ${path} does not exist`);
    expect(error.message).toContain(cure);
  });

  test('an SDK shows it', async () => {
    const client = new OpenAI({ baseURL: fixture.gateway.origin, apiKey: key, maxRetries: 0 });
    const refused = await client.chat.completions
      .create({ model: 'full', messages: [{ role: 'user', content: 'x' }] })
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(OpenAI.NotFoundError);
    expect(String(refused)).toContain('the base URL has to end in /v1');
  });

  test.each(['/docs/nothing', '/docs/', '/docs/chat/more'])('there is no guide at %s', async (path) => {
    const response = await fetch(`${fixture.gateway.origin}${path}`);
    expect([response.status, ((await response.json()) as ErrorBody).error.code]).toEqual([404, 'not_found']);
    const page = await fetch(`${fixture.gateway.origin}${path}`, { headers: { accept: 'text/html' } });
    expect([page.status, page.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
    // Not the dashboard, which would ask for a sign-in or suggest that access is missing.
    const text = await page.text();
    expect(text).toContain('Page not found');
    expect(text).not.toContain('/assets/');
  });
});
