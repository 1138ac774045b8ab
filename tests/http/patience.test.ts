/** How long a connection may be silent: as long as a provider is, but only for clients that are allowed to wait for one. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { once } from 'node:events';
import { connect } from 'node:net';
import { ApiError } from '../../src/errors.ts';
import { BodyBudget } from '../../src/http/body-budget.ts';
import { streamResponse } from '../../src/http/client-stream.ts';
import { generateKey, hashKey } from '../../src/keys/key-format.ts';
import type { ApiKey } from '../../src/keys/key-store.ts';
import { KnownRates } from '../../src/keys/known-rates.ts';
import { newId } from '../../src/lib/ids.ts';
import { createLog } from '../../src/lib/log.ts';
import { listen } from '../../src/operations/listen.ts';
import { createRoutes, type Services } from '../../src/routes.ts';
import { RequestRecorder } from '../../src/telemetry/request-recorder.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';

const key = generateKey();
const userId = newId();
const accountId = newId();
const keyId = newId();
const account = `/api/console/accounts/${accountId}`;

let database: TestDatabase;
/** The response once the request waits for a provider. */
let answerLate: () => Promise<Response>;

beforeAll(async () => {
  database = await createDatabase();
  const { sql } = database;
  await sql`insert into accounts (id, name) values (${accountId}, 'Patient')`;
  await sql`insert into users (id, email, name, is_operator) values (${userId}, 'ada@example.com', 'Ada', true)`;
  await sql`insert into memberships (user_id, account_id, role) values (${userId}, ${accountId}, 'owner')`;
  await sql`insert into api_keys (id, account_id, name, hash, hint, requests_per_minute)
    values (${keyId}, ${accountId}, 'Key', ${hashKey(key)}, 'svc_sk_…0000', 600)`;
  await sql`insert into api_key_meters (key_id) values (${keyId})`;
}, 60_000);

afterAll(() => database.close());

function routesFor(isSignedIn: boolean) {
  const found: ApiKey = {
    id: keyId,
    accountId,
    allowedModels: null,
    expiresAt: null,
    revokedAt: null,
    isAccountSuspended: false,
    priceGroup: null,
    requestsPerMinute: 600,
    limitVersion: 0,
  };
  const services = {
    log: createLog('error'),
    sql: database.sql,
    reads: () => database.sql,
    deriveKey: () => Buffer.alloc(32),
    catalog: () => ({ catalog: { models: new Map() } }),
    publicUrl: null,
    chatExtensions: new Set(),
    trustedProxies: [],
    sessions: {
      find: async (headers: Headers) =>
        isSignedIn ? { userId: headers.get('cookie') ?? userId, isOperator: true } : null,
    },
    keys: { find: async () => found },
    authenticate: () => found,
    rates: new KnownRates(),
    bodies: new BodyBudget(80 * 1024 * 1024),
    isDraining: () => false,
    recorder: new RequestRecorder(createLog('error'), null, null),
    refusals: { record: () => {} },
    metricsPage: null,
    securityContact: null,
    payments: null,
    operatorContact: null,
    admission: { checkWait: () => {} },
    audits: { start: async () => true },
    idempotency: { once: () => answerLate() },
  };
  return createRoutes(services as unknown as Services, () => 'http://localhost');
}

const chat = { model: 'full', messages: [{ role: 'user', content: 'hello' }] };
const waiting = [
  ['/v1/chat/completions', chat],
  ['/v1/images/generations', { model: 'full', prompt: 'A gate' }],
  [`${account}/playground/chat`, { key_id: keyId, request: chat }],
] as const;

const patternOf = (path: string) => path.replace(accountId, ':account');

describe('while a client is silent', () => {
  test.concurrent.each([false, true])(
    'its connection ends, when it may use the gateway (%p) too',
    async (isAllowed) => {
      const server = listen({ host: '127.0.0.1', port: 0 }, routesFor(isAllowed), 1);
      const { port, host } = new URL(server.address);
      const authority = isAllowed ? `Authorization: Bearer ${key}\r\n` : '';
      const ended = waiting.map(async ([path]) => {
        const socket = connect(Number(port), '127.0.0.1').resume();
        socket.write(
          `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nOrigin: http://${host}\r\n${authority}` +
            'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n',
        );
        // Whether it is reset or closed normally does not matter.
        await once(socket, 'close').catch(() => {});
      });
      await Promise.all(ended);
      await server.closeAll();
    },
    60_000,
  );
});

test('one person has 4 calls in progress and 100 waiting; others do not notice', async () => {
  const server = listen({ host: '127.0.0.1', port: 0 }, routesFor(true));
  const { port, host } = new URL(server.address);
  const calls = Array.from({ length: 110 }, () => {
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(
      `PATCH ${account}/keys/${keyId} HTTP/1.1\r\nHost: ${host}\r\nOrigin: http://${host}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 2\r\n\r\n',
    );
    const call = { socket, answer: '' };
    socket.on('data', (bytes) => {
      call.answer += bytes;
    });
    return call;
  });
  const answered = () => calls.filter(({ answer }) => answer !== '');
  await eventually('six are answered', () => answered().length >= 6);
  for (const { answer } of answered()) {
    expect(answer).toStartWith('HTTP/1.1 429 ');
    expect(answer.toLowerCase()).toContain('retry-after: 1\r\n');
  }
  const statusFor = async (cookie: string) => {
    const headers = { cookie, 'sec-fetch-site': 'same-origin' };
    return (await fetch(`${server.address}${account}/members`, { headers })).status;
  };
  expect([await statusFor(userId), await statusFor(newId())]).toEqual([429, 404]);
  expect(answered()).toHaveLength(6);
  for (const { socket, answer } of calls) if (answer === '') socket.write('{}');
  await eventually('all are answered', () => answered().length >= 110);
  expect(calls.filter(({ answer }) => answer.startsWith('HTTP/1.1 200 '))).toHaveLength(104);
  expect(await statusFor(userId)).toBe(200);
  for (const { socket } of calls) socket.destroy();
  await server.closeAll();
}, 60_000);

describe('while a provider is silent', () => {
  /** The idle timeouts set for a request, and whether its body had been read by then. */
  async function timesOf(path: string, body: unknown, answer: () => Promise<Response>, isSignedIn = true) {
    answerLate = answer;
    const times: (number | 'unread')[] = [];
    const request = Object.assign(
      new Request(`http://localhost${path}`, {
        method: 'POST',
        headers: {
          host: 'localhost',
          origin: 'http://localhost',
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'idempotency-key': newId(),
        },
        body: JSON.stringify(body),
      }),
      { params: { account: accountId } },
    );
    const host = {
      timeout: (of: Request, seconds: number) => times.push(of.bodyUsed ? seconds : 'unread'),
      requestIP: () => null,
    };
    const response = await routesFor(isSignedIn).routes[patternOf(path)]?.POST?.(request, host);
    return { status: response?.status, times };
  }

  test.each(waiting)(
    'POST %s waits once all is read, and for the next request no longer than usual',
    async (path, body) => {
      const answer = () => Promise.resolve(Response.json({}));
      expect(await timesOf(path, body, answer)).toEqual({ status: 200, times: [0, 120] });
    },
  );

  test('a late refusal gets no more time than others; a stream gets all of it', async () => {
    const refuse = () => Promise.reject(new ApiError('insufficient_balance'));
    expect(await timesOf('/v1/chat/completions', chat, refuse)).toEqual({ status: 402, times: [0, 120] });
    for (const type of ['text/event-stream', 'application/json']) {
      const headers = { 'content-type': type };
      const stream = async () =>
        streamResponse(new Headers(headers), new AbortController().signal, async () => undefined);
      expect(await timesOf('/v1/chat/completions', chat, stream)).toEqual({ status: 200, times: [0] });
      const whole = async () => new Response('', { headers });
      expect(await timesOf('/v1/chat/completions', chat, whole)).toEqual({ status: 200, times: [0, 120] });
    }
  });

  test.each(waiting)('POST %s: who is refused early never waits patiently', async (path, body) => {
    const answer = () => Promise.resolve(Response.json({}));
    expect(await timesOf(path, { ...body, nonsense: 1 }, answer)).toEqual({ status: 400, times: [] });
    if (path.startsWith('/api')) expect((await timesOf(path, body, answer, false)).times).toEqual([]);
  });

  test('any number of chats in the playground wait, and the dashboard answers meanwhile', async () => {
    const gate = Promise.withResolvers<void>();
    let underWay = 0;
    const answer = async () => {
      underWay += 1;
      await gate.promise;
      return Response.json({});
    };
    const body = { key_id: keyId, request: chat };
    const chats = Array.from({ length: 12 }, () => timesOf(`${account}/playground/chat`, body, answer));
    await eventually('all are under way', () => underWay >= 12);
    expect((await timesOf('/api/console/operator/ledger-audit', {}, answer)).status).toBe(202);
    gate.resolve();
    expect((await Promise.all(chats)).map(({ status }) => status)).toEqual(Array(12).fill(200));
  });

  test('a download waits for a slow reader, when it is a member who reads', async () => {
    const timesFor = async (isSignedIn: boolean) => {
      const times: number[] = [];
      const headers = { host: 'localhost', 'sec-fetch-site': 'same-origin' };
      const request = new Request(`http://localhost${account}/usage.csv`, { headers });
      const host = { timeout: (_of: Request, seconds: number) => times.push(seconds), requestIP: () => null };
      const { routes } = routesFor(isSignedIn);
      const response = await routes['/api/console/accounts/:account/usage.csv']?.GET?.(
        Object.assign(request, { params: { account: accountId } }),
        host,
      );
      await response?.text();
      return [response?.status, ...times];
    };
    expect(await timesFor(true)).toEqual([200, 0]);
    expect(await timesFor(false)).toEqual([401]);
  });
});
