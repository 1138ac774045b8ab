/** What is sent: one hostile request after another, each by its number and the seed alone, so that it can be had again. */
import { generateKey } from '../../src/keys/key-format.ts';
import type { Random } from '../random.ts';
import { chatBody, heavyBodies, imageBody, mutateTree, textMutations } from './bodies.ts';
import { brokenRequests } from './broken-http.ts';
import { chatModels, hastyModel, imageModel, uncallableModels } from './catalog.ts';
import { encode, type HostileRequest, type Parts } from './request.ts';

/** Keys that exist, by what is the matter with them. */
export type Keys = Readonly<
  Record<'good' | 'broke' | 'revoked' | 'expired' | 'suspended' | 'restricted' | 'limited' | 'slow', string>
>;

type Maker = (random: Random, keys: Keys, number: number) => HostileRequest;
type Header = readonly [string, string];

const chat = '/v1/chat/completions';
const json: Header = ['content-type', 'application/json'];
const bearer = (key: string): Header => ['authorization', `Bearer ${key}`];

function request(name: string, parts: Parts, more: Partial<HostileRequest> = {}): HostileRequest {
  return {
    name,
    bytes: encode(parts),
    framing: 'sound',
    answers: 1,
    isHeadOnly: parts.method === 'HEAD',
    leave: null,
    isApi: parts.target?.startsWith('/v1/') === true,
    provokes: 'nothing',
    ...more,
  };
}

function post(target: string, key: string, body: Buffer | string, ...headers: Header[]): Parts {
  return { method: 'POST', target, headers: [bearer(key), json, ...headers], body };
}

/** Text that the sandbox answers at once. */
const plainChat = (random: Random) => chatBody(random, random.pick(chatModels), 'Hello [[say hi]]');
const somebody = (random: Random, keys: Keys) => random.pick([keys.good, keys.broke]);

const anyBody = (random: Random): { target: string; body: ReturnType<typeof chatBody> } =>
  random.happens(0.85)
    ? { target: chat, body: plainChat(random) }
    : { target: '/v1/images/generations', body: imageBody(random, imageModel, 'A cat') };

const brokenText: Maker = (random, keys) => {
  const { target, body } = anyBody(random);
  const { name, of } = random.pick(textMutations);
  return request(`body ${name}`, post(target, somebody(random, keys), of(JSON.stringify(body), random)), {
    provokes: 'failure',
  });
};

const oddFields: Maker = (random, keys) => {
  const { target, body } = anyBody(random);
  let mutated = mutateTree(body, random);
  if (random.happens(0.3) && typeof mutated === 'object' && mutated !== null && !Array.isArray(mutated))
    mutated = mutateTree(mutated, random);
  return request('body with odd fields', post(target, somebody(random, keys), JSON.stringify(mutated)), {
    provokes: 'failure',
  });
};

const heavyBody: Maker = (random, keys) => {
  const { name, of } = random.pick(heavyBodies);
  return request(
    `heavy body: ${name}`,
    post(chat, somebody(random, keys), of(JSON.stringify(plainChat(random)), random)),
  );
};

const unknownKey: Maker = (random, keys) => {
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

const oddAuthorization: Maker = (random, keys) => {
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

const oddNameHeader: Maker = (random, keys, number) => {
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

const oddQuery: Maker = (random, keys) => {
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

const oddId: Maker = (random, keys) => {
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

const anyRoute: Maker = (random, keys) => {
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

const oddType: Maker = (random, keys) => {
  const type = random.pick<Header[]>([
    [],
    [['content-type', 'text/plain']],
    [['content-type', 'multipart/form-data; boundary=x']],
    [['content-type', 'application/json; charset=latin1']],
    [['content-type', 'application/json; charset="utf-8"']],
    [['content-type', 'application/x-www-form-urlencoded']],
    [['content-type', 'x'.repeat(3_000)]],
    [json, ['content-encoding', random.pick(['gzip', 'br', 'identity', 'x'])]],
    [json, json],
  ]);
  return request('odd Content-Type', {
    method: 'POST',
    target: chat,
    headers: [bearer(keys.good), ...type],
    body: JSON.stringify(plainChat(random)),
  });
};

type Misdeed = Readonly<{ directives: string; provokes?: HostileRequest['provokes']; isHasty?: boolean }>;

/** What the provider is asked to do. Whatever may fail because of it is said so. */
const misdeeds: readonly [Misdeed, ...Misdeed[]] = [
  { directives: '[[repeat 200]]', provokes: 'failure' },
  ...[
    '200',
    '201',
    '302',
    '400',
    '401',
    '402',
    '403',
    '404',
    '408',
    '409',
    '413',
    '422',
    '429',
    '500',
    '503',
    '529',
  ].map((status): Misdeed => ({ directives: `[[status ${status}]]`, provokes: 'failure' })),
  ...[
    'html 502',
    'error-body',
    'not-json',
    'redirect',
    'close',
    'cut 1',
    'cut finish',
    'end 1',
    'malformed 1',
    'error-event 1',
    'empty',
    'wrong-type',
  ].map((name): Misdeed => ({ directives: `[[${name}]]`, provokes: 'failure' })),
  ...[
    'no-usage',
    'bad-usage negative',
    'bad-usage fraction',
    'bad-usage string',
    'bad-usage partial',
    'bad-usage total',
    'end finish',
  ].map((name): Misdeed => ({ directives: `[[${name}]]`, provokes: 'unbillable' })),
  ...['hang', 'stall 1', 'delay 300', 'chunk-delay 150'].map(
    (name): Misdeed => ({ directives: `[[${name}]]`, provokes: 'failure', isHasty: true }),
  ),
  ...[
    'no-done',
    'crlf',
    'bytes 1',
    'burst',
    'gzip',
    'zero-usage',
    'usage 10 100000000',
    'usage 9999999 1',
    'reasoning 50',
    'cached 30',
    'finish nonsense',
    'finish content_filter',
    'retry-after 1',
    'long 300',
  ].map((name): Misdeed => ({ directives: `[[${name}]]`, provokes: 'failure' })),
  { directives: '[[huge 1]]', provokes: 'failure' },
  { directives: '[[tools 3]]', provokes: 'failure' },
  { directives: '[[no-such-directive]]', provokes: 'failure' },
];

const misbehavingProvider: Maker = (random, keys) => {
  const { directives, provokes = 'nothing', isHasty = false } = random.pick(misdeeds);
  const model = isHasty ? hastyModel : random.pick(chatModels);
  const body = chatBody(random, model, `Hello ${directives}`);
  return request(`provider asked for ${directives}`, post(chat, keys.good, JSON.stringify(body)), {
    provokes,
  });
};

const uncallable: Maker = (random, keys) =>
  request(
    'model that cannot be called',
    post(
      chat,
      keys.good,
      JSON.stringify(chatBody(random, random.pick([...uncallableModels, imageModel]), 'hi')),
    ),
  );

const leaver: Maker = (random, keys) => {
  const body = JSON.stringify({
    ...chatBody(random, chatModels[0], '[[long 40]] [[chunk-delay 5]]'),
    stream: true,
  });
  const parts = post(chat, keys.good, body);
  if (random.happens(0.5))
    return request('leaves in the middle of the answer', parts, { leave: 'when answered' });
  const bytes = encode(parts);
  return request('leaves in the middle of the body', parts, {
    bytes: bytes.subarray(0, random.between(1, bytes.length - 1)),
    leave: 'when sent',
  });
};

const bigPromise: Maker = (random, keys) =>
  request(
    'announces far more than it sends',
    {},
    {
      bytes: Buffer.from(
        `POST ${chat} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${keys.broke}\r\ncontent-type: application/json\r\ncontent-length: ${random.pick([20_000_000, 900_000_000, 5_000])}\r\n\r\n${'['.repeat(random.pick([1, 1_000, 60_000]))}`,
      ),
      leave: 'when sent',
    },
  );

const brokenHttp: Maker = (random, keys) => {
  const { name, of } = random.pick(brokenRequests);
  const parts: Parts = random.happens(0.5)
    ? post(chat, keys.good, JSON.stringify(plainChat(random)))
    : { target: '/v1/models', headers: [bearer(keys.good)] };
  const bytes = Buffer.from(of(encode(parts).toString('latin1'), random), 'latin1');
  return request(`HTTP: ${name}`, parts, { bytes, framing: 'broken', provokes: 'failure' });
};

/** Nobody does this any more. The server may answer in turn, or close the connection. */
const pipelined: Maker = (random, keys) => {
  const count = random.between(2, 5);
  const target = random.pick(['/v1/models', '/v1/usage', '/v1/nothing', '/healthz']);
  const parts: Parts = { target, headers: [bearer(keys.good)] };
  return request('several at once on a connection', parts, {
    bytes: Buffer.concat(Array.from({ length: count }, () => encode(parts))),
    framing: 'broken',
    answers: count,
  });
};

const signIn: Maker = (random) =>
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

const decision: Maker = (random) =>
  request('decision without a session', {
    method: 'POST',
    target: '/api/decisions/run',
    headers: [json],
    body: random.pick(['{}', '[', '{"state":{},"questions":[]}']),
  });

/** How often each is sent, of a million. */
const shares: readonly (readonly [number, Maker])[] = [
  [250_000, brokenText],
  [200_000, oddFields],
  [60, heavyBody],
  [120_000, unknownKey],
  [40_000, oddAuthorization],
  [40_000, oddNameHeader],
  [80_000, oddQuery],
  [40_000, oddId],
  [90_000, anyRoute],
  [30_000, oddType],
  [40_000, misbehavingProvider],
  [20_000, uncallable],
  [10_000, leaver],
  [4_000, bigPromise],
  [20_000, brokenHttp],
  [10_000, pipelined],
  [500, signIn],
  [5_000, decision],
];
const allShares = shares.reduce((sum, [share]) => sum + share, 0);

export function hostileRequest(number: number, random: Random, keys: Keys): HostileRequest {
  let place = random.next() * allShares;
  for (const [share, make] of shares) {
    place -= share;
    if (place < 0) return make(random, keys, number);
  }
  return brokenText(random, keys, number);
}
