/** What a client learns when there is no such route. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { knownRoutes, missingRoute } from '../../src/http/missing-route.ts';

const routes = knownRoutes({
  '/v1/chat/completions': { POST: null },
  '/v1/models': { GET: null },
  '/v1/models/*': { GET: null },
  '/v1/generations/:id': { GET: null },
  '/keys': { GET: null },
});

const told = (method: string, path: string) => {
  const { code, message, docs } = missingRoute(method, path, routes);
  expect(code).toBe('not_found');
  return [message, docs ?? null];
};

describe('the likely fix', () => {
  test.each([
    ['GET', '/v1/chat/completions', 'GET /v1/chat/completions does not exist: use POST.', null],
    ['POST', '/v1/models/vendor/x', 'POST /v1/models/vendor/x does not exist: use GET.', null],
    ['DELETE', '/v1/generations/req_1', 'DELETE /v1/generations/req_1 does not exist: use GET.', null],
    [
      'POST',
      '/v1/chat/completions/',
      'POST /v1/chat/completions/ does not exist: leave out the slash at the end.',
      null,
    ],
    [
      'POST',
      '/chat/completions',
      'POST /chat/completions does not exist: use /v1/chat/completions. In most clients the base URL has to end in /v1.',
      'clients#base-url',
    ],
    [
      'POST',
      '/v1/v1/chat/completions',
      'POST /v1/v1/chat/completions does not exist: use /v1/chat/completions. Your client adds /v1 itself, so leave it out of the base URL.',
      'clients#base-url',
    ],
    [
      'POST',
      '/v1',
      'POST /v1 does not exist: this is the base URL of the API, and your client has to add the path, such as /chat/completions.',
      'clients#base-url',
    ],
  ])('%s %s', (method, path, message, docs) => {
    expect(told(method, path)).toEqual([message, docs]);
  });

  test.each([
    ['/v1/responses/resp_1', 'nothing is stored here'],
    ['/v1/responses/compact', 'nothing is stored here'],
    ['/v1/embeddings', 'embeddings'],
    ['/v1/messages/batches', 'batches of messages'],
    ['/v1/completions', 'Completions'],
    ['/v1/audio/speech', 'audio'],
    ['/v1beta/models/x:generateContent', 'Google'],
    ['/api/chat', 'Ollama'],
  ])('%s is another API', (path, name) => {
    const [message, docs] = told('POST', path);
    expect(message).toStartWith(`POST ${path} does not exist: `);
    expect(message).toContain(name);
    expect(docs).toBe('clients#other-apis');
  });

  test('is unknown for anything else', () => {
    expect(told('GET', '/v1/generations/req_1')).toEqual(['GET /v1/generations/req_1 does not exist.', null]);
    expect(told('GET', '/v1/nothing')).toEqual(['GET /v1/nothing does not exist.', 'clients#base-url']);
    expect(told('POST', '/nothing')).toEqual(['POST /nothing does not exist.', null]);
  });
});

test('whatever is asked for, the message is short and on one line', () => {
  const anyPath = fc.oneof(fc.webPath(), fc.string(), fc.string({ minLength: 5_000, maxLength: 9_000 }));
  fc.assert(
    fc.property(fc.string(), anyPath, (method, path) => {
      const { message } = missingRoute(method, `/${path}`, routes);
      expect(message.length).toBeLessThan(400);
      expect(message).not.toMatch(/\p{Cc}/u);
      expect(message.isWellFormed()).toBe(true);
    }),
  );
});
