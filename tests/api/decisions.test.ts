/** POST /api/decisions/run over a real socket: every response, and every row of its error table. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { SQL } from 'bun';
import { runDecision } from '../../src/decisions/handler.ts';
import { askProvider } from '../../src/decisions/provider.ts';
import { defaultPatience, patiently } from '../../src/decisions/retries.ts';
import { BodyBudget } from '../../src/http/body-budget.ts';
import { createLog } from '../../src/lib/log.ts';
import contractErrors from '../contract/decision-errors.json';
import {
  asking,
  choice,
  type DecisionsFixture,
  decisionIn,
  decisionModel,
  errorIn,
  noul,
  openDecisionsFixture,
  score,
  send,
} from '../support/decisions-fixture.ts';
import { eventually } from '../support/eventually.ts';

let fixture: DecisionsFixture;

beforeAll(async () => {
  fixture = await openDecisionsFixture();
});
afterAll(() => fixture.close());

/** Rows of the contract's table that occurred. */
const met = new Set<string>();

async function refused(response: Response): Promise<Awaited<ReturnType<typeof errorIn>>> {
  const error = await errorIn(response);
  met.add(`${error.status} ${error.type}`);
  return error;
}

const ask = (body: unknown, sending?: Parameters<typeof send>[2]) => send(fixture, body, sending);

/** How often the sandbox was called with this text in the request, whatever the outcome. */
const callsWith = (text: string) =>
  fixture.sandbox.entries.filter(({ body }) => JSON.stringify(body).includes(text)).length;

describe('200', () => {
  test('an answer for each question, under its name and in its form', async () => {
    const response = await ask(asking('', { route: choice, grade: score }));
    expect(response.headers.get('cache-control')).toBe('no-store');
    const { model, answers, usage, charge, service } = await decisionIn(response);
    expect(model).toBe('sandbox-decision-2026-11-01');
    expect(Object.keys(answers)).toEqual(['safe', 'route', 'grade']);
    expect(answers.safe).toEqual({ type: 'noul', noul: expect.any(Number) });
    expect(answers.route).toEqual({
      type: 'choice',
      choice: expect.stringMatching(/^(left|right)$/),
      probabilities: { left: expect.any(Number), right: expect.any(Number) },
      confidence: expect.any(Number),
    });
    expect(answers.grade).toEqual({
      type: 'score',
      score: expect.any(Number),
      probabilities: { 0: expect.any(Number), 1: expect.any(Number), 2: expect.any(Number) },
      legend: { 0: 'bad', 1: 'fair', 2: 'good' },
      confidence: expect.any(Number),
    });
    expect(usage).toEqual({ input_tokens: expect.any(Number), output_tokens: 24 });
    expect(charge).toBeUndefined();
    expect(service).toEqual({
      request_id: expect.stringMatching(/^req_[0-9a-f]{32}$/),
      latency_ms: expect.any(Number),
      provider: 'Acme Decisions',
      upstream_status: 200,
      upstream_request_id: expect.stringMatching(/^req_sandbox_/),
    });
    expect(Number.isInteger(service.latency_ms)).toBe(true);
  });

  test('the provider gets what was written and its own key, and nothing from the browser', async () => {
    const text = `{ "state": {"id": 12345678901234567890}, "model": "${decisionModel}",\n "questions": {"b": ${JSON.stringify(noul('unique-forwarded'))}} }`;
    await decisionIn(await ask(text, { headers: { 'x-forwarded-for': '1.2.3.4', 'user-agent': 'Browser' } }));
    const entry = fixture.sandbox.entries.findLast(({ body }) =>
      JSON.stringify(body).includes('unique-forwarded'),
    );
    expect(entry?.body as unknown).toEqual(JSON.parse(text));
    expect(entry?.path).toBe('/v1/decisions');
    expect(entry?.headers.get('authorization')).toBe('Bearer provider-key-canary');
    for (const name of ['cookie', 'origin', 'x-forwarded-for']) expect(entry?.headers.get(name)).toBeNull();
    expect(entry?.headers.get('user-agent')).not.toBe('Browser');
  });

  test('a charge is shown if the provider reports one, and only then', async () => {
    const { charge } = await decisionIn(await ask(asking('[[charge 0.0012]]')));
    expect(charge).toEqual({ amount: 0.0012, currency: 'USD' });
  });

  test('nothing is held, charged or stored', async () => {
    const tables = ['ledger_entries', 'generations', 'open_generations', 'attempts'];
    const { sql } = fixture.database;
    const rows = () =>
      Promise.all(
        tables.map(
          async (table) => (await sql.unsafe(`select count(*)::int as count from ${table}`))[0].count,
        ),
      );
    const before = await rows();
    await decisionIn(await ask(asking('[[charge 5]]')));
    expect(await rows()).toEqual(before);
  });

  const names = [
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    '',
    '7',
    '007',
    '4294967295',
    'ünïcödé 👋',
    'x'.repeat(5_000),
    '"quoted\\"',
  ];

  test('names are data: those of questions and options come back unchanged', async () => {
    const object = (values: readonly string[]) =>
      `{${names.map((name, index) => `${JSON.stringify(name)}:${values[index]}`).join(',')}}`;
    const criteria = object(names.map(() => '"It fits."'));
    const question = `{"type":"choice","instructions":"Which?","criteria":${criteria}}`;
    const body = `{"model":"${decisionModel}","state":{"__proto__":{"polluted":1}},"questions":${object(names.map(() => question))}}`;
    const { answers } = await decisionIn(await ask(body));
    expect(Object.keys(answers).toSorted()).toEqual(names.toSorted());
    for (const answer of Object.values(answers)) {
      if (answer.type !== 'choice') throw new Error('It is no choice.');
      expect(Object.keys(answer.probabilities).toSorted()).toEqual(names.toSorted());
      expect(names).toContain(answer.choice);
    }
    const entry = fixture.sandbox.entries.at(-1)?.body as { state: object; questions: object };
    expect(Object.hasOwn(entry.state, '__proto__')).toBe(true);
    expect(Object.hasOwn(entry.questions, '__proto__')).toBe(true);
  });
});

describe('400', () => {
  test.each([
    ['nothing', ''],
    ['half a body', '{"model":'],
    ['a comma too many', '{"model":"m",}'],
    ['text', 'hello'],
  ])('invalid_json: %s', async (_, body) => {
    expect(await refused(await ask(body))).toMatchObject({ status: 400, type: 'invalid_json' });
  });

  const good = JSON.stringify(asking());
  test.each<[string, unknown, string]>([
    ['a list', [], 'JSON object'],
    ['a text', '"x"', 'JSON object'],
    ['another model', { ...asking(), model: 'gpt-4o' }, 'model'],
    ['the version instead of the alias', { ...asking(), model: 'sandbox-decision-2026-11-01' }, 'model'],
    ['a state inside a string', { ...asking(), state: '{}' }, 'state'],
    ['no questions', { ...asking(), questions: {} }, 'questions'],
    ['blank instructions', { ...asking(), questions: { a: noul(' ') } }, 'questions.a.instructions'],
    ['one option', asking('', { a: { ...choice, criteria: { b: 'B' } } }), 'questions.a.criteria'],
    ['one level', asking('', { a: { ...score, criteria: ['good'] } }), 'questions.a.criteria'],
    ['a stream', { ...asking(), stream: true }, 'stream is not supported'],
    ['a chat', { ...asking(), messages: [], temperature: 1 }, 'messages is not supported'],
    ['a name twice', good.replace('"state"', '"state":{},"state"'), 'state: This key appears more than once'],
    ['a question twice', good.replace('"safe"', '"safe":1,"\\u0073afe"'), 'questions.safe: This key'],
    ['a null character', asking('\0'), 'U+0000'],
    ['half a character', good.replace('It is', '\\ud800'), 'surrogate'],
    ['a number without end', good.replace(':3', ':1e999'), 'state.speed'],
    ['depth without end', good.replace(':3', `:${'['.repeat(100)}${']'.repeat(100)}`), 'deeper than'],
  ])('validation_error: %s', async (_, body, words) => {
    const error = await refused(await ask(body));
    expect(error).toMatchObject({ status: 400, type: 'validation_error' });
    expect(error.message).toContain(words);
    expect(error).not.toHaveProperty('provider');
    expect(error).not.toHaveProperty('upstream_status');
  });

  test('validation_error: another content type, and a query', async () => {
    const plain = await ask(asking(), { headers: { 'content-type': 'text/plain' } });
    expect((await refused(plain)).message).toContain('application/json');
    const { deciding, cookie } = fixture;
    const queried = await fetch(`${deciding.origin}/api/decisions/run?stream=true`, {
      method: 'POST',
      headers: { origin: deciding.origin, cookie, 'content-type': 'application/json' },
      body: JSON.stringify(asking()),
    });
    expect((await refused(queried)).message).toContain('"stream" is not supported');
  });
});

test('401 authentication_error without a session, also with an API key', async () => {
  for (const headers of [{ cookie: '' }, { cookie: '', authorization: `Bearer ${fixture.key}` }])
    expect(await refused(await ask(asking(), { headers }))).toMatchObject({
      status: 401,
      type: 'authentication_error',
    });
});

test('403 invalid_origin comes before everything else', async () => {
  const headers = { origin: 'https://evil.example.com', cookie: '' };
  expect(await refused(await ask('{', { headers }))).toMatchObject({ status: 403, type: 'invalid_origin' });
});

describe('413', () => {
  const limit = 262_144;
  const sized = (bytes: number) => {
    const [head = '', tail = ''] = JSON.stringify({ ...asking(), state: { text: '' } }).split('""');
    return `${head}"${'x'.repeat(bytes - head.length - tail.length - 2)}"${tail}`;
  };

  test('a body of 256 KB is accepted, one byte more is not', async () => {
    expect(sized(limit)).toHaveLength(limit);
    await decisionIn(await ask(sized(limit)));
    expect(await refused(await ask(sized(limit + 1)))).toMatchObject({
      status: 413,
      type: 'request_too_large',
    });
  });

  test('bytes count, not characters', async () => {
    expect((await ask(sized(limit - 2).replace('xx', '€€'))).status).toBe(413);
  });

  test('a body without a length is counted as it arrives', async () => {
    const head = [
      'POST /api/decisions/run HTTP/1.1',
      `host: ${new URL(fixture.deciding.origin).host}`,
      `origin: ${fixture.deciding.origin}`,
      `cookie: ${fixture.cookie}`,
      'content-type: application/json',
      'transfer-encoding: chunked',
    ].join('\r\n');
    const answerTo = async (chunks: readonly string[]): Promise<string> => {
      const { hostname, port } = new URL(fixture.deciding.origin);
      const socket = connect(Number(port), hostname);
      let answer = '';
      socket.on('error', () => undefined);
      socket.on('data', (bytes) => {
        answer += bytes;
      });
      socket.write(`${head}\r\n\r\n`);
      for (const chunk of chunks) socket.write(`${chunk.length.toString(16)}\r\n${chunk}\r\n`);
      await eventually('the whole answer', () => /\r\n\r\n[\s\S]*\}/.test(answer));
      socket.destroy();
      return answer;
    };
    const tooLong = await answerTo(Array.from({ length: 10 }, () => ' '.repeat(30_000)));
    expect(tooLong).toStartWith('HTTP/1.1 413');
    expect(tooLong).toContain('"type":"request_too_large"');
    const good = JSON.stringify(asking());
    expect(await answerTo([good.slice(0, 20), good.slice(20), ''])).toStartWith('HTTP/1.1 200');
  });
});

describe('what the provider says', () => {
  test.each([
    ['[[status 422]]', 422, 'provider_error', 422],
    ['[[status 400]]', 502, 'provider_error', 400],
    ['[[status 401]]', 502, 'provider_authentication_error', 401],
    ['[[status 403]]', 502, 'provider_authentication_error', 403],
    ['[[status 500]]', 502, 'provider_error', 500],
    ['[[status 503]]', 502, 'provider_error', 503],
    ['[[status 504]]', 502, 'provider_error', 504],
    ['[[html 502]]', 502, 'provider_error', 502],
    ['[[redirect]]', 502, 'provider_error', 302],
    ['[[error-body]]', 502, 'invalid_response', 200],
    ['[[not-json]]', 502, 'invalid_response', 200],
    ['[[empty]]', 502, 'invalid_response', 200],
    ['[[malformed 1]]', 502, 'invalid_response', 200],
    ['[[gzip]]', 502, 'invalid_response', 200],
    ['[[huge 5]]', 502, 'invalid_response', 200],
    ['[[no-usage]]', 502, 'invalid_response', 200],
    ['[[bad-answer missing]]', 502, 'invalid_response', 200],
    ['[[bad-answer type]]', 502, 'invalid_response', 200],
    ['[[bad-answer probability]]', 502, 'invalid_response', 200],
    ['[[cut 1]]', 502, 'connection_error', 200],
    ['[[close]]', 502, 'connection_error', undefined],
  ])('%s is answered %d %s', async (directive, status, type, upstreamStatus) => {
    const error = await refused(await ask(asking(`${directive} once`)));
    expect(error).toMatchObject({ status, type, provider: 'Acme Decisions' });
    expect(error.upstream_status).toBe(upstreamStatus as number);
    if (upstreamStatus !== undefined) expect(error.upstream_request_id).toStartWith('req_sandbox_');
    expect(error).not.toHaveProperty('retry_after_seconds');
  });

  test('429 rate_limit with the time to wait, in the header and in the body', async () => {
    const response = await ask(asking('[[status 429]] [[retry-after 7]] limited'));
    expect(response.headers.get('retry-after')).toBe('7');
    expect(await refused(response)).toMatchObject({
      status: 429,
      type: 'rate_limit',
      retry_after_seconds: 7,
    });
    expect(callsWith('limited')).toBe(1);
    const date = new Date(Date.now() + 60_000).toUTCString();
    const dated = await ask(asking(`[[status 429]] [[retry-after ${date}]]`));
    const seconds = Number(dated.headers.get('retry-after'));
    expect(seconds).toBeWithin(50, 61);
    expect((await refused(dated)).retry_after_seconds).toBe(seconds);
  });

  test.each(['[[status 429]]', '[[status 429]] [[retry-after soon]]'])(
    '%s: no wait is made up',
    async (directive) => {
      const response = await ask(asking(directive));
      expect(response.headers.has('retry-after')).toBe(false);
      expect(await refused(response)).not.toHaveProperty('retry_after_seconds');
    },
  );
});

describe('an overload', () => {
  test('that passes is not noticed', async () => {
    const { service } = await decisionIn(await ask(asking('[[flaky 2 529 passing]]')));
    expect(callsWith('passing')).toBe(3);
    expect(service.upstream_status).toBe(200);
    expect(service.latency_ms).toBeGreaterThanOrEqual(2_000);
  });

  test('that lasts is 529 provider_overloaded, after three attempts', async () => {
    expect(await refused(await ask(asking('[[status 529]] staying')))).toMatchObject({
      status: 529,
      type: 'provider_overloaded',
      upstream_status: 529,
    });
    expect(callsWith('staying')).toBe(3);
  });

  test('nothing is retried for a client that left', async () => {
    const leaving = new AbortController();
    const sent = ask(asking('[[status 529]] leaving'), { signal: leaving.signal });
    await eventually('the call', () => callsWith('leaving') > 0);
    leaving.abort();
    expect(await sent.catch(() => 'left')).toBe('left');
    // Another request that takes longer than any retry of the first would have waited: nothing else came before its end.
    await refused(await ask(asking('[[status 529]] staying longer')));
    expect(callsWith('leaving')).toBe(1);
  });

  test('a call in progress ends with its client', async () => {
    // The sandbox lists a call when it has ended. A client that left before its call was made stays longer the next time.
    let staysMs = 300;
    await eventually('the end of a call whose client left', async () => {
      const leaving = new AbortController();
      const sent = ask(asking('[[hang]] hanging'), { signal: leaving.signal });
      await Bun.sleep(staysMs);
      leaving.abort();
      expect(await sent.catch(() => 'left')).toBe('left');
      staysMs *= 2;
      return callsWith('hanging') > 0;
    });
    const call = fixture.sandbox.entries.findLast(({ body }) => JSON.stringify(body).includes('hanging'));
    expect(call).toMatchObject({ status: null, ended: 'client_gone' });
  });
});

describe('503', () => {
  test('not_configured where nobody decides, once the request itself is good', async () => {
    const { origin } = fixture.gateway;
    expect(await refused(await ask(asking(), { origin }))).toMatchObject({
      status: 503,
      type: 'not_configured',
    });
    expect((await refused(await ask({}, { origin }))).type).toBe('validation_error');
  });

  test('authentication_unavailable while PostgreSQL is away, and well again afterwards', async () => {
    const [name] = await fixture.database.sql`select current_database() as name`;
    const admin = new SQL(fixture.database.url.replace(`/${name.name}?`, '/postgres?'), { max: 1 });
    const cutOff = () =>
      admin`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name.name}`;
    await admin.unsafe(`alter database ${name.name} with allow_connections false`);
    try {
      await cutOff();
      const error = await refused(await ask(asking()));
      expect(error).toMatchObject({ status: 503, type: 'authentication_unavailable' });
      // A request without a cookie is refused without the database.
      expect((await ask(asking(), { headers: { cookie: '' } })).status).toBe(401);
    } finally {
      await admin.unsafe(`alter database ${name.name} with allow_connections true`);
      await admin.close();
    }
    const response = await eventually('an answer', async () => {
      const answered = await ask(asking());
      return answered.status === 503 ? null : answered;
    });
    await decisionIn(response);
  }, 60_000);
});

describe('with less patience than usual', () => {
  /** The endpoint itself on its own socket, with a deadline that a test can wait for. */
  function serveHurried(baseUrl: string) {
    const source = askProvider({ name: 'Acme', baseUrl, apiKey: 'k', model: decisionModel });
    const decider = patiently(source, { ...defaultPatience, deadlineMs: 300 });
    const lines: string[] = [];
    const someone = {
      userId: 'u',
      sessionId: 's',
      email: 'e',
      name: 'n',
      isOperator: false,
      mustVerify: false,
    };
    const services = {
      bodies: new BodyBudget(0),
      decisions: () => decider,
      publicUrl: null,
      log: createLog('info', (line) => lines.push(line)),
      sessions: { find: async () => someone },
    };
    const requestId = `req_${'0'.repeat(32)}`;
    const handle = runDecision(services);
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: async (request) => {
        const response = await handle(request, { requestId });
        response.headers.set('x-service-request-id', requestId);
        return response;
      },
    });
    return { server, services, lines, origin: server.url.origin };
  }

  test('504 timeout when the deadline has passed, in a call or before a retry', async () => {
    const { server, lines, origin } = serveHurried(`${fixture.sandbox.url}/v1`);
    const silent = await refused(await ask(asking('[[hang]]'), { origin }));
    expect(silent).toMatchObject({ status: 504, type: 'timeout', provider: 'Acme' });
    expect(silent).not.toHaveProperty('upstream_status');
    const stalled = await refused(await ask(asking('[[stall 1]]'), { origin }));
    expect(stalled).toMatchObject({ status: 504, type: 'timeout', upstream_status: 200 });
    const overloaded = await refused(await ask(asking('[[status 529]]'), { origin }));
    expect(overloaded).toMatchObject({ status: 504, type: 'timeout', upstream_status: 529 });
    expect(lines.join()).toContain('"code":"timeout","provider":"Acme","upstreamStatus":529');
    await server.stop(true);
  });

  test('a defect of ours is a 502 that names no provider and reveals nothing', async () => {
    const { server, services, lines, origin } = serveHurried(`${fixture.sandbox.url}/v1`);
    Object.assign(services, {
      decisions: () => {
        throw new TypeError('defect of ours');
      },
    });
    const error = await refused(await ask(asking(), { origin }));
    expect(error).toMatchObject({ status: 502, type: 'provider_error' });
    expect(error).not.toHaveProperty('provider');
    expect(JSON.stringify(error)).not.toContain('defect');
    expect(lines.join()).toContain('defect of ours');
    await server.stop(true);
  });
});

test('other methods, and the path that API keys would have, do not exist', async () => {
  const { deciding, cookie, key } = fixture;
  const headers = { origin: deciding.origin, cookie, authorization: `Bearer ${key}` };
  for (const [method, path] of [
    ['GET', '/api/decisions/run'],
    ['PUT', '/api/decisions/run'],
    ['DELETE', '/api/decisions/run'],
    ['OPTIONS', '/api/decisions/run'],
    ['POST', '/api/decisions'],
    ['POST', '/v1/decisions'],
  ] as const) {
    const response = await fetch(`${deciding.origin}${path}`, { method, headers });
    expect([method, path, response.status]).toEqual([method, path, 404]);
    expect(await response.json()).toMatchObject({ error: { code: 'not_found' } });
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
  }
});

test('the dashboard is told which model to name, or that there is none', async () => {
  const { deciding, gateway, cookie } = fixture;
  const decisionsAt = async (origin: string) => {
    const response = await fetch(`${origin}/api/console/me`, { headers: { cookie } });
    return ((await response.json()) as { decisions: unknown }).decisions;
  };
  expect(await decisionsAt(deciding.origin)).toEqual({ is_configured: true, model: decisionModel });
  expect(await decisionsAt(gateway.origin)).toEqual({ is_configured: false, model: null });
});

test('every row of the contract’s table occurred', () => {
  expect([...met].toSorted()).toEqual(
    contractErrors.map(({ status, type }) => `${status} ${type}`).toSorted(),
  );
});
