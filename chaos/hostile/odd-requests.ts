/** Requests with odd keys, names, queries, IDs, routes and methods. */
import { generateKey } from '../../src/keys/key-format.ts';
import { chatModels } from './catalog.ts';
import { bearer, chat, type Header, json, type Maker, plainChat, post, request } from './maker.ts';

export const unknownKey: Maker = (random, keys) => {
  const bytes = (count: number) => Uint8Array.from({ length: count }, () => random.between(0, 247));
  const key = random.pick<() => string>([
    () => generateKey(bytes),
    () => keys.revoked,
    () => keys.expired,
    () => keys.suspended,
    () => keys.restricted,
    () => keys.limited,
    () => keys.slow,
    () => keys.broke,
    () => keys.good.slice(0, -1),
    () => `${keys.good.slice(0, -1)}${random.pick(['a', 'b', '\u00ff', ' ', ','])}`,
    () => '',
    () => 'svc_sk_',
    () => 'x'.repeat(random.pick([1, 100, 6_000])),
  ])();
  const target = random.pick([chat, '/v1/models', '/v1/usage', '/v1/generations']);
  if (target !== chat) return request('odd key', { target, headers: [bearer(key)] });
  return request('odd key', post(chat, key, JSON.stringify(plainChat(random))));
};

export const oddAuthorization: Maker = (random, keys) => {
  const header = random.pick<Header[]>([
    [],
    [['authorization', keys.good]],
    [['authorization', `Basic ${btoa(keys.good)}`]],
    [bearer(keys.good), bearer(keys.good)],
    [['authorization', `bearer   ${keys.good}`]],
    [['x-api-key', keys.good]],
    [['authorization', `Bearer ${keys.good} ${keys.good}`]],
    [['cookie', `session=${keys.good}`]],
  ]);
  return request('odd authorization', { target: random.pick(['/v1/models', '/v1/usage']), headers: header });
};

export const oddNameHeader: Maker = (random, keys, number) => {
  const name = random.pick([
    '',
    ' ',
    'x'.repeat(255),
    'x'.repeat(256),
    '\u00e4',
    'a\tb',
    '__proto__',
    'same',
    `own-${number}`,
    `own-${number}`,
    "'; drop table idempotent_requests; --",
  ]);
  const key = random.pick([keys.good, keys.broke, keys.slow]);
  const headers: Header[] = [
    ['idempotency-key', name],
    ...(random.happens(0.1) ? [['idempotency-key', 'b'] as const] : []),
  ];
  const body = random.happens(0.5)
    ? { model: chatModels[0], messages: [{ role: 'user', content: '[[say hi]]' }] }
    : plainChat(random);
  return request('odd Idempotency-Key', post(chat, key, JSON.stringify(body), ...headers));
};

const numbers = [
  '0',
  '-1',
  '1',
  '101',
  '1e9',
  'NaN',
  '99999999999999999999',
  '',
  '%00',
  '0x1',
  '1.5',
  '%31',
] as const;

export const oddQuery: Maker = (random, keys) => {
  const cursor = () =>
    random.pick([
      '',
      'x',
      'eyJpZCI6MX0',
      'A'.repeat(2_000),
      '%00',
      '%ff%fe',
      '__proto__',
      '../..',
      btoa('{"v":1}'),
    ]);
  const path = random.pick(['/v1/generations', '/v1/usage', '/v1/models']);
  const query = random.pick<() => string>([
    () => `limit=${random.pick(numbers)}`,
    () => `limit=${random.pick(numbers)}&limit=${random.pick(numbers)}`,
    () => `cursor=${cursor()}`,
    () => `after=${cursor()}&before=${cursor()}`,
    () => `status=${random.pick(['completed', 'x', '%00', '__proto__'])}&model=${cursor()}`,
    () =>
      `from=${random.pick(['2026-01-01', 'x', '-1', '275760-09-13', '0000-00-00T99:99:99Z', '%F0%9F'])}&to=${random.pick(numbers)}`,
    () => `${cursor()}=${cursor()}`,
    () => '&'.repeat(500),
    () => '%',
    () => `__proto__[x]=1&constructor=1`,
  ])();
  return request('odd query', { target: `${path}?${query}`, headers: [bearer(keys.good)] });
};

export const oddId: Maker = (random, keys) => {
  const id = random.pick([
    'req_01a1dfc70e4477029cd3ca0f00b3ba2a',
    'req_',
    'x',
    '%00',
    '%2e%2e%2f',
    '..',
    'x'.repeat(3_000),
    '01a1dfc7-0e44-7702-9cd3-ca0f00b3ba2a',
    'req_zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz',
    '%F0%9F%92%A9',
    '__proto__',
    "req_'--",
  ]);
  return request('odd ID', { target: `/v1/generations/${id}`, headers: [bearer(keys.good)] });
};

const paths = [
  '/',
  '/v1',
  '/v1/',
  '/v1/chat/completions',
  '/v1/chat/completions/',
  '/v1//models',
  '/v1/images/generations',
  '/v1/generations',
  '/v1/generations/x/y',
  '/v1/models',
  '/v1/models/__proto__',
  '/v1/usage',
  '/api/decisions/run',
  '/api/auth/sign-in/email',
  '/api/auth/get-session',
  '/api/auth/../console/me',
  '/api/console/me',
  '/api/console/operator/accounts',
  '/api/console/accounts/x/keys',
  '/api/console/accounts/%00/generations',
  '/openapi.json',
  '/docs',
  '/assets/../../package.json',
  '/assets/%2e%2e%2findex.html',
  '/healthz',
  '/readyz',
  '/.env',
  '/admin',
  '/v1/%63hat/completions',
] as const;

export const anyRoute: Maker = (random, keys) => {
  const method = random.pick([
    'GET',
    'POST',
    'PUT',
    'DELETE',
    'PATCH',
    'OPTIONS',
    'HEAD',
    'TRACE',
    'PROPFIND',
  ]);
  const target = random.pick(paths);
  const body = method === 'GET' || method === 'HEAD' ? '' : random.pick(['', '{}', '[]', '{"a":1}', 'x']);
  const headers: Header[] = [
    ...(random.happens(0.5) ? [bearer(keys.good)] : []),
    ...(random.happens(0.5) ? [json] : []),
    ...(random.happens(0.2) ? [['origin', 'https://evil.example'] as const] : []),
    ...(random.happens(0.2) ? [['cookie', 'better-auth.session_token=x.y'] as const] : []),
    ...(random.happens(0.2) ? [['accept', random.pick(['text/html', '*/*', 'x', ''])] as const] : []),
    ...(random.happens(0.1)
      ? [['x-forwarded-for', random.pick(['1.2.3.4', 'x', '::', ','.repeat(500)])] as const]
      : []),
  ];
  return request('any route and method', { method, target, headers, body });
};

export const signIn: Maker = (random) =>
  request('sign-in', {
    method: 'POST',
    target: random.pick([
      '/api/auth/sign-in/email',
      '/api/auth/sign-up/email',
      '/api/auth/forget-password',
      '/api/auth/reset-password',
    ]),
    headers: [json, ['origin', 'http://127.0.0.1']],
    body: random.pick([
      '{}',
      '{"email":"a@b.c","password":"x"}',
      '{"email":{"$ne":1},"password":[]}',
      '[',
      `{"email":"${'a'.repeat(5_000)}@b.c","password":"${'x'.repeat(5_000)}"}`,
    ]),
  });

export const decision: Maker = (random) =>
  request('decision without a session', {
    method: 'POST',
    target: '/api/decisions/run',
    headers: [json],
    body: random.pick(['{}', '[', '{"state":{},"questions":[]}']),
  });
