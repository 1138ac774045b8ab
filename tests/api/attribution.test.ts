/**
 * Whom requests are for, through a real gateway: from their headers to the lists, files and providers, and nowhere else. And
 * what a response cost, in its header.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { FoundGeneration, RequestPage } from '../../src/console/request-contract.ts';
import { dayOf } from '../../src/usage/days.ts';
import { chatCatalog, dumpOf, type ErrorBody, finishedGeneration } from '../support/chat-fixture.ts';
import { runCommand } from '../support/commands.ts';
import {
  type ConsoleFixture,
  everyone,
  forMembers,
  forOperators,
  openConsoleFixture,
  outcomeFor,
  type Visitor,
} from '../support/console-fixture.ts';

type Received = Readonly<{ path: string; body: Readonly<Record<string, unknown>>; text: string }>;
const received: Received[] = [];

/** Keeps what it gets and says hello, in the format of the path. */
const provider = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const path = new URL(request.url).pathname;
    const text = await request.text();
    received.push({ path, body: JSON.parse(text), text: text + JSON.stringify([...request.headers]) });
    if (path.endsWith('/messages'))
      return Response.json({
        content: [{ type: 'text', text: 'Hello' }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 10, output_tokens: 1 },
      });
    if (path.endsWith('/images/generations'))
      return Response.json({ data: [{ url: 'https://a.example/1' }] });
    return Response.json({
      choices: [{ index: 0, message: { content: 'Hello' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 },
    });
  },
});

const price = 'pricing: { billing_type: token, input: "1", output: "2" }';
const told = {
  providers: `
  openai:  { name: O, adapter: openai, base_url: "${provider.url.origin}/openai", end_user_id: safety_identifier }
  legacy:  { name: L, adapter: openai, base_url: "${provider.url.origin}/legacy", end_user_id: user }
  claude:  { name: C, adapter: anthropic, base_url: "${provider.url.origin}/claude", end_user_id: metadata.user_id }
  untold:  { name: U, adapter: openai, base_url: "${provider.url.origin}/untold" }`,
  models: `
  openai:  { workload: chat, ${price}, providers: [openai] }
  legacy:  { workload: chat, ${price}, providers: [legacy] }
  claude:  { workload: chat, ${price}, providers: [claude] }
  untold:  { workload: chat, ${price}, providers: [untold] }
  drawn:   { workload: image, sizes: ["1024x1024"], pricing: { billing_type: image, unit_price: "0.04" }, providers: [openai] }`,
};

let fixture: ConsoleFixture;
let path: string;
let strangersKey: string;

beforeAll(async () => {
  fixture = await openConsoleFixture((url) => chatCatalog(url, told));
  path = `/api/console/accounts/${fixture.account}/requests`;
  const { key } = await runCommand<{ key: string }>(
    ['key', 'create', '--account', fixture.strangersAccount],
    fixture.environment,
  );
  strangersKey = key;
}, 60_000);

afterAll(async () => {
  await fixture.close();
  await provider.stop(true);
});

type Headers = Readonly<Record<string, string>>;
type Sent = Readonly<{ headers?: Headers; model?: string; key?: string; content?: string; stream?: boolean }>;

function send({ headers = {}, model = 'untold', key = fixture.key, content = 'hi', stream }: Sent) {
  const isImage = model === 'drawn';
  return fetch(`${fixture.gateway.origin}/v1/${isImage ? 'images/generations' : 'chat/completions'}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(
      isImage ? { model, prompt: content } : { model, stream, messages: [{ role: 'user', content }] },
    ),
  });
}

const idOf = (response: Response) => response.headers.get('x-service-request-id') ?? '';

/** Sends a request that succeeds, and returns its ID. */
async function made(sent: Sent): Promise<string> {
  const response = await send(sent);
  expect([response.status, await response.text()]).toEqual([200, expect.anything()]);
  return idOf(response);
}

async function jsonOf<Body>(visitor: Visitor, address: string): Promise<Body> {
  const response = await visitor.send('GET', address);
  expect(response.status).toBe(200);
  return (await response.json()) as Body;
}

const listOf = (query: string) => jsonOf<RequestPage>(fixture.people.member, `${path}?${query}`);
const idsOf = async (query: string) => (await listOf(query)).data.map(({ id }) => id);
const operatorPath = '/api/console/operator/requests';
const foundByOperator = (query: string) =>
  jsonOf<RequestPage>(fixture.people.operator, `${operatorPath}?${query}`);

async function errorOf(response: Response): Promise<[number, string, string | undefined]> {
  const { error } = (await response.json()) as ErrorBody;
  return [response.status, error.code, error.param];
}

/** As a client library sends text: in UTF-8, one character for each byte. */
const bytes = (text: string) => Buffer.from(text).toString('latin1');

describe('a request', () => {
  test('says whom it is for, and its record shows it everywhere', async () => {
    const headers = { 'x-end-user': bytes('zoë-1'), 'x-tags': 'team=search, env=prod' };
    const expected = { end_user: 'zoë-1', session: null, tags: { env: 'prod', team: 'search' } };
    for (const sent of [{ headers }, { headers, model: 'full', stream: true }, { headers, model: 'drawn' }]) {
      const id = await made(sent);
      const generation = await finishedGeneration(fixture.gateway.origin, fixture.key, id);
      expect(generation).toMatchObject({ id, attribution: expected });
      const listed = await fetch(`${fixture.gateway.origin}/v1/generations?limit=1`, {
        headers: { authorization: `Bearer ${fixture.key}` },
      });
      expect(await listed.json()).toMatchObject({ data: [{ id, attribution: expected }] });
      expect((await listOf('limit=1')).data[0]).toMatchObject({ id, attribution: expected });
      const detail = await jsonOf<FoundGeneration>(fixture.people.member, `${path}/${id}`);
      expect(detail.request).toMatchObject({ id, attribution: expected });
      const any = await jsonOf<FoundGeneration>(fixture.people.operator, `${operatorPath}/${id}`);
      expect(any.request).toMatchObject({ id, attribution: expected });
    }
  });

  test('that says nothing has a record without it', async () => {
    const id = await made({});
    const generation = await finishedGeneration(fixture.gateway.origin, fixture.key, id);
    expect(Object.keys(generation)).not.toContain('attribution');
    expect((await listOf('limit=1')).data[0]).toMatchObject({ id, attribution: null });
  });

  test.each([
    ['x-end-user', 'x'.repeat(257), 'untold'],
    ['x-end-user', 'Zo\xeb', 'untold'],
    ['x-tags', 'team', 'untold'],
    ['x-tags', 'a=1,a=2', 'drawn'],
    ['x-tags', Array.from({ length: 11 }, (_, index) => `n${index}=v`).join(','), 'drawn'],
  ])('with a malformed %s is refused before anything is held or called', async (name, value, model) => {
    const [before, calls] = [await idsOf('limit=1&streamed=no'), received.length];
    const response = await send({ model, headers: { [name]: value } });
    expect(await errorOf(response)).toEqual([400, 'invalid_parameter', name]);
    expect([await idsOf('limit=1&streamed=no'), received.length]).toEqual([before, calls]);
  });
});

describe('the list', () => {
  test('is filtered by end user, tag and session, alone and together with the rest', async () => {
    const of = (user: string, tags: string, sent: Sent = {}) =>
      made({ ...sent, headers: { 'x-end-user': user, 'x-tags': tags } });
    const first = await of('filter-a', 'team=one,step=1');
    const second = await of('filter-a', 'team=two', { model: 'full' });
    const third = await of('filter-b', 'team=one');
    expect(await idsOf('end_user=filter-a')).toEqual([second, first]);
    expect(await idsOf('tag=team%3Done')).toEqual([third, first]);
    expect(await idsOf('end_user=filter-a&tag=team%3Done')).toEqual([first]);
    expect(await idsOf('end_user=filter-a&model=full')).toEqual([second]);
    expect(await idsOf('end_user=filter-a&status=failed')).toEqual([]);
    expect(await idsOf(`end_user=filter-a&key=${fixture.keyId}&status=completed`)).toEqual([second, first]);
    expect(await idsOf('end_user=filter')).toEqual([]);
    expect(await idsOf('session=none')).toEqual([]);
    // Only the formats of agents have sessions.
    const { sql } = fixture.database;
    await sql`
      insert into generation_attributions (generation_id, account_id, kind, label)
      select generation_id, account_id, 'session', 'run-1' from generation_attributions where label = 'step=1'`;
    expect(await idsOf('session=run-1')).toEqual([first]);
    expect((await listOf('session=run-1')).data[0]?.attribution?.session).toBe('run-1');
  });

  test('has pages whose cursors belong to the filter', async () => {
    const ids: string[] = [];
    for (let count = 0; count < 3; count += 1)
      ids.unshift(await made({ headers: { 'x-end-user': 'paged' } }));
    const page = await listOf('end_user=paged&limit=2');
    expect([page.data.map(({ id }) => id), page.has_more]).toEqual([ids.slice(0, 2), true]);
    const rest = await listOf(`end_user=paged&limit=2&cursor=${page.next_cursor}`);
    expect([rest.data.map(({ id }) => id), rest.has_more]).toEqual([ids.slice(2), false]);
    const other = await fixture.people.member.send('GET', `${path}?limit=2&cursor=${page.next_cursor}`);
    expect(await errorOf(other)).toEqual([400, 'invalid_cursor', 'cursor']);
  });

  test.each([
    ['end_user=', 'end_user'],
    [`end_user=${'x'.repeat(257)}`, 'end_user'],
    ['tag=team', 'tag'],
    ['session=%00', 'session'],
    ['session=', 'session'],
    ['tag=%3Dvalue', 'tag'],
    [`tag=a%3D${'x'.repeat(257)}`, 'tag'],
    ['end_user=a&end_user=b', 'end_user'],
    ['end_user=%E2%80%AEx', 'end_user'],
  ])('cannot be filtered by %s', async (query, param) => {
    const response = await fixture.people.member.send('GET', `${path}?${query}`);
    expect(await errorOf(response)).toEqual([400, 'invalid_parameter', param]);
  });

  test('takes a filter for the very text, whatever it would mean elsewhere', async () => {
    const headers = { 'x-end-user': 'plain_100%', 'x-tags': 'kind=plain_100%' };
    const [own] = [await made({ headers }), await made({ headers, key: strangersKey })];
    const label = encodeURIComponent('plain_100%');
    expect(await idsOf(`end_user=${label}&tag=kind%3D${label}`)).toEqual([own]);
    const others = [
      '%',
      '_',
      'plain%',
      'plain_1000',
      'PLAIN_100%',
      "' or true --",
      '{plain_100%}',
      '\\',
      '*',
      '^',
    ];
    for (const other of others.map(encodeURIComponent)) {
      for (const query of [
        `end_user=${other}`,
        `session=${other}`,
        `tag=kind%3D${other}`,
        `tag=${other}%3D${label}`,
      ]) {
        expect([query, await idsOf(query)]).toEqual([query, []]);
        expect([query, (await foundByOperator(query)).data]).toEqual([query, []]);
      }
    }
    const unknown = await fixture.people.member.send('GET', `${path}?end_user%5B%5D=plain`);
    expect(await errorOf(unknown)).toEqual([400, 'unsupported_parameter', 'end_user[]']);
  });

  test('of one account never shows or finds what another says', async () => {
    const headers = { 'x-end-user': 'shared-name', 'x-tags': 'shared=tag' };
    const [own, theirs] = [await made({ headers }), await made({ headers, key: strangersKey })];
    const strangersPath = `/api/console/accounts/${fixture.strangersAccount}/requests`;
    for (const query of ['end_user=shared-name', 'tag=shared%3Dtag']) {
      expect(await idsOf(query)).toEqual([own]);
      const found = await jsonOf<RequestPage>(fixture.people.stranger, `${strangersPath}?${query}`);
      expect(found.data.map(({ id }) => id)).toEqual([theirs]);
    }
    for (const person of everyone) {
      const visitor = fixture.people[person];
      expect(await outcomeFor(visitor, 'GET', `${path}?end_user=shared-name`)).toBe(forMembers[person]);
      expect(await outcomeFor(visitor, 'GET', `${path}.csv?end_user=shared-name`)).toBe(forMembers[person]);
      expect(await outcomeFor(visitor, 'GET', `${operatorPath}?end_user=shared-name`)).toBe(
        forOperators[person],
      );
      expect(await outcomeFor(visitor, 'GET', `${operatorPath}.csv?end_user=shared-name`)).toBe(
        forOperators[person],
      );
    }
    // A key of another account is no way in either.
    const foreign = await fixture.people.member.send(
      'GET',
      `${path}?end_user=shared-name&key=${fixture.strangersKeyId}`,
    );
    expect(await errorOf(foreign)).toEqual([404, 'key_not_found', 'key']);
  });

  test('of an operator has every account, or one', async () => {
    const headers = { 'x-end-user': 'everywhere' };
    const [own, theirs] = [await made({ headers }), await made({ headers, key: strangersKey })];
    const all = await foundByOperator('end_user=everywhere');
    expect(all.data.map(({ id, account }) => [id, account?.id])).toEqual([
      [theirs, fixture.strangersAccount],
      [own, fixture.account],
    ]);
    const one = await foundByOperator(`end_user=everywhere&account=${fixture.account}`);
    expect(one.data.map(({ id }) => id)).toEqual([own]);
    const paged = await foundByOperator('end_user=everywhere&limit=1');
    const next = await foundByOperator(`end_user=everywhere&limit=1&cursor=${paged.next_cursor}`);
    expect(next.data.map(({ id }) => id)).toEqual([own]);
  });

  test('goes on where it had to stop looking', async () => {
    const { sql } = fixture.database;
    const oldest = await made({ headers: { 'x-tags': 'busy=yes' }, model: 'full' });
    // So many others with the same tag that a page cannot look at all of them; their Generations are long gone.
    await sql`
      insert into generation_attributions (generation_id, account_id, kind, label)
      select (lpad(to_hex((extract(epoch from now()) * 1000)::bigint + 60000), 12, '0')
              || '70008000' || lpad(to_hex(n), 12, '0'))::uuid, ${fixture.account}, 'tag', 'busy=yes'
      from generate_series(1, 10050) as n`;
    const page = await listOf('tag=busy%3Dyes&model=full');
    expect([page.data, page.has_more]).toEqual([[], true]);
    expect(await idsOf(`tag=busy%3Dyes&model=full&cursor=${page.next_cursor}`)).toEqual([oldest]);
    await sql`delete from generation_attributions where label = 'busy=yes' and generation_id not in (select id from generations)`;
  });
});

describe('the files', () => {
  const today = dayOf(new Date());
  const linesOf = async (visitor: Visitor, address: string) => {
    const response = await visitor.send('GET', address);
    expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    return (await response.text()).trimEnd().split('\r\n');
  };

  test('have the same filters and the same figures', async () => {
    const headers = { 'x-end-user': '=cmd()', 'x-tags': 'file=yes,q="x"' };
    const [first, second] = [await made({ headers }), await made({ headers, model: 'full' })];
    const [header, ...lines] = await linesOf(fixture.people.member, `${path}.csv?tag=file%3Dyes`);
    expect(header).toBe(
      'at,request_id,status,error_code,api,model,key_id,key_name,provider,fallback_from,streamed,finish_reason,input_tokens,output_tokens,cache_read_tokens,units,unit,cost_usd,duration_ms,time_to_first_token_ms,end_user,session,tags',
    );
    expect(lines.map((line) => line.split(',')[1])).toEqual([second, first]);
    // A spreadsheet would take it for a formula.
    expect(lines[0]).toEndWith(`,"'=cmd()",,"{""file"":""yes"",""q"":""\\""x\\""""}"`);
    expect(lines[1]).toContain(',10,1,,11,tokens,0.000012000000,');
    const [, ...filtered] = await linesOf(
      fixture.people.member,
      `${path}.csv?tag=file%3Dyes&model=full&from=${today}`,
    );
    expect(filtered.length).toBe(1);
    const [, ...past] = await linesOf(fixture.people.member, `${path}.csv?from=2020-01-01&to=2020-01-31`);
    expect(past).toEqual([]);
    const [operators, ...all] = await linesOf(fixture.people.operator, `${operatorPath}.csv?tag=file%3Dyes`);
    expect(operators).toStartWith('account_id,account_name,at,');
    expect(all.map((line) => line.split(',')[3])).toEqual([second, first]);
  });

  test('have everything, piece by piece', async () => {
    const { sql } = fixture.database;
    const model = 'piece by piece';
    // Requests that nobody was charged for, more than fit into two pieces.
    await sql`
      insert into generations (id, account_id, key_id, workload, model, provider, status, streaming, fallback, attempt_count,
        price_list_id, latency_ms, created_at, completed_at)
      select (lpad(to_hex((extract(epoch from now()) * 1000)::bigint - n), 12, '0')
              || '70008000' || lpad(to_hex(n), 12, '0'))::uuid, ${fixture.account}, ${fixture.keyId}, 'chat', ${model}, 'P',
             'cancelled', false, false, 0, (select min(id) from price_lists), 1, now(), now()
      from generate_series(1, 250) as n`;
    const [, ...lines] = await linesOf(
      fixture.people.member,
      `${path}.csv?model=${encodeURIComponent(model)}`,
    );
    expect([lines.length, new Set(lines).size]).toEqual([250, 250]);
    await sql`delete from generations where model = ${model}`;
  });
});

describe('a provider', () => {
  async function bodyFor(model: string, headers: Headers = {}, key = fixture.key) {
    await made({ model, headers, key });
    return received.at(-1)?.body ?? {};
  }

  test('is told by an ID that stays the same, in its own field', async () => {
    const alice = { 'x-end-user': 'alice-canary' };
    const { safety_identifier: id } = await bodyFor('openai', alice);
    expect(id).toMatch(/^[\w-]{43}$/);
    expect((await bodyFor('openai', alice)).safety_identifier).toBe(id);
    expect((await bodyFor('legacy', alice)).user).toBe(id);
    expect((await bodyFor('claude', alice)).metadata).toEqual({ user_id: id });
    expect((await bodyFor('drawn', alice)).user).toBe(id);
    const others = [
      await bodyFor('openai', { 'x-end-user': 'bob' }),
      await bodyFor('openai', alice, strangersKey),
      await bodyFor('openai'),
    ].map((body) => body.safety_identifier);
    expect(new Set([id, ...others]).size).toBe(4);
    // Without an end user it is the account, whatever its tags.
    expect((await bodyFor('openai', { 'x-tags': 'a=b' })).safety_identifier).toBe(others[2]);
  });

  test('is not told unless the catalogue says so', async () => {
    const body = await bodyFor('untold', { 'x-end-user': 'alice-canary' });
    expect(Object.keys(body).toSorted()).toEqual(['max_tokens', 'messages', 'model']);
  });

  test('never sees what the customer calls anybody', async () => {
    const headers = { 'x-end-user': 'secret-end-user', 'x-tags': 'secret-tag=secret-value' };
    for (const model of ['openai', 'legacy', 'claude', 'untold', 'drawn']) await made({ model, headers });
    for (const { text } of received) expect(text).not.toContain('secret-');
  });
});

test('nothing of it is in the log or the metrics, or in any other table', async () => {
  const headers = { 'x-end-user': 'private-end-user', 'x-tags': 'private-tag=private-value' };
  await made({ headers });
  await send({ headers, content: '[[status 503]]', model: 'full' });
  await send({ headers: { 'x-tags': 'private-tag' } });
  const metrics = await (await fetch(`${fixture.gateway.origin}/metrics`)).text();
  for (const text of [fixture.gateway.output(), metrics]) expect(text).not.toContain('private-');
  const { sql } = fixture.database;
  expect(await dumpOf(fixture.database)).toContain('private-end-user');
  await sql`delete from generation_attributions where label like 'private-%'`;
  expect(await dumpOf(fixture.database)).not.toContain('private-');
});

describe('the cost of a response', () => {
  const costOf = (response: Response) => response.headers.get('x-service-cost-usd');

  test('is in its header, as it was charged', async () => {
    for (const [model, cost] of [
      ['untold', '0.000012'],
      ['claude', '0.000012'],
      ['drawn', '0.04'],
    ] as const) {
      const response = await send({ model });
      expect([response.status, costOf(response)]).toEqual([200, cost]);
      const generation = await finishedGeneration(fixture.gateway.origin, fixture.key, idOf(response));
      expect(Number(generation.cost?.total)).toBe(Number(cost));
    }
  });

  test('is the same in a replay', async () => {
    const headers = { 'idempotency-key': 'cost-1', 'x-end-user': 'once' };
    const [first, second] = [await send({ headers }), await send({ headers })];
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    expect([costOf(first), costOf(second)]).toEqual(['0.000012', '0.000012']);
    expect(await idsOf('end_user=once')).toEqual([idOf(first)]);
  });

  test('is not in a stream, which begins before it is known, or in an error', async () => {
    expect(costOf(await send({ model: 'full', stream: true }))).toBeNull();
    expect(costOf(await send({ model: 'full', content: '[[status 503]]' }))).toBeNull();
  });
});
