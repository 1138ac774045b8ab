/** What requests cost the operator, from the provider's report to the page of margins, and that customers see none of it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { findMargins } from '../../src/console/operator/margin-queries.ts';
import type { MarginFigures, Margins } from '../../src/console/operator-contract.ts';
import type { ApiError } from '../../src/errors.ts';
import { divideHalfUp, formatMoney, parseMoney } from '../../src/lib/money.ts';
import { createDocument } from '../../src/openapi/document.ts';
import { addDays, dayOf } from '../../src/usage/days.ts';
import { addUpUsage } from '../../src/usage/usage-days.ts';
import { chatCatalog, type ErrorBody, finishedGeneration } from '../support/chat-fixture.ts';
import { type ConsoleFixture, openConsoleFixture } from '../support/console-fixture.ts';
import { startScriptedProvider, usageEvent } from '../support/scripted-provider.ts';

/** A thousand tokens of input cost the operator this many units, whoever is charged for them. */
const canary = '987654321';
const cost = `{ billing_type: token, input: "0.${canary}", output: "0" }`;
const priced =
  'workload: chat, max_output_tokens: 1000, pricing: { billing_type: token, input: "1", output: "2" }';
const patient = 'api_key_env: MAIN_KEY, circuit: { failures: 1000 }';

const scripted = startScriptedProvider();
const catalog = (url: string) =>
  chatCatalog(url, {
    providers: `
  odd:   { name: Odd, adapter: openai, base_url: ${scripted.url}/v1, ${patient} }
  even:  { name: Even, adapter: openai, base_url: ${scripted.url}/v1, ${patient} }
  slow:  { name: Slow, adapter: openai, base_url: ${url}/v1, ${patient}, timeouts: { first_byte_ms: 300 } }
  brief: { name: Brief, adapter: openai, base_url: ${url}/v1, ${patient}, timeouts: { total_ms: 700 } }`,
    models: `
  known:   { ${priced}, providers: [{ provider: main, cost: ${cost} }] }
  steps:   { ${priced}, providers: [{ provider: main, cost: { billing_type: token, input_token_tiers: [
             { max_input_tokens: 100, input: "1", output: "1" }, { max_input_tokens: 1000, input: "2", output: "3" } ] } }] }
  odd:     { ${priced}, providers: [{ provider: odd, cost: ${cost} }, { provider: backup, cost: ${cost} }] }
  odder:   { ${priced}, providers: [{ provider: odd, cost: ${cost} }, { provider: even, cost: ${cost} }] }
  slow:    { ${priced}, providers: [{ provider: slow, cost: ${cost} }] }
  brief:   { ${priced}, providers: [{ provider: brief, cost: ${cost} }] }
  pair:    { ${priced}, providers: [{ provider: gone, cost: { billing_type: token, input: "5", output: "5" } }, { provider: backup, cost: ${cost} }] }
  drawn:   { workload: image, sizes: { "1024x1024": 1k, "512x512": 2k }, providers: [{ provider: main,
             cost: { billing_type: image, unit_price: "0.03", tier_rates: { 1k: "0.011", 2k: "0.012" } } }],
             pricing: { billing_type: image, unit_price: "0.04", tier_rates: { 1k: "0.05", 2k: "0.06" } } }`,
  });

let fixture: ConsoleFixture;

beforeAll(async () => {
  fixture = await openConsoleFixture(catalog);
}, 60_000);

afterAll(async () => {
  await fixture.close();
  await scripted.stop();
});

function post(path: string, body: object, key = fixture.key): Promise<Response> {
  return fetch(`${fixture.gateway.origin}/v1/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

const ask = (model: string, content: string, more: object = {}) => ({
  model,
  messages: [{ role: 'user', content }],
  ...more,
});

type Uncharged = { provider: string; tokens: string | null; cost: string | null };
type Recorded = { charge: { provider: string; cost: string | null } | null; uncharged: Uncharged[] };

/** What is recorded of a request once it has ended. */
async function recorded(response: Response, key = fixture.key): Promise<Recorded> {
  const text = await response.text();
  expect(text).not.toContain(canary);
  const requestId = response.headers.get('x-service-request-id') ?? '';
  await finishedGeneration(fixture.gateway.origin, key, requestId);
  const { sql } = fixture.database;
  const id = requestId.slice(4);
  const [charge] = await sql<{ provider: string; cost: string | null }[]>`
    select provider, provider_cost::text as cost from usage_records where replace(id::text, '-', '') = ${id}`;
  const uncharged = await sql<Uncharged[]>`
    select provider, input_tokens || '/' || output_tokens as tokens, cost::text from uncharged_attempts
    where replace(generation_id::text, '-', '') = ${id} order by index`;
  return { charge: charge ? { ...charge } : null, uncharged: [...uncharged].map((row) => ({ ...row })) };
}

const thousand = `0.000${canary}`;
const charged = (provider: string, amount: string | null): Recorded => ({
  charge: { provider, cost: amount },
  uncharged: [],
});
const unknown = (provider: string): Recorded => ({
  charge: null,
  uncharged: [{ provider, tokens: null, cost: null }],
});

describe('the cost of a charge', () => {
  test.each([
    [
      'by the tokens that the provider reported',
      ask('known', '[[usage 1000 20]]'),
      charged('Main', thousand),
    ],
    ['of a stream', ask('known', '[[usage 1000 20]]', { stream: true }), charged('Main', thousand)],
    ['by the tier of its input', ask('steps', '[[usage 101 10]]'), charged('Main', '0.000232000000')],
    ['in the tier below', ask('steps', '[[usage 100 10]]'), charged('Main', '0.000110000000')],
    ['of more than was believed', ask('known', '[[usage 100000 20]]'), charged('Main', `0.0${canary}00`)],
    ['is unknown if no call can use so much', ask('known', '[[usage 1000000 20]]'), charged('Main', null)],
    ['is unknown without a price', ask('full', '[[usage 1000 20]]'), charged('Main', null)],
    [
      'is unknown where the gateway ended the call and estimates',
      ask('brief', '[[chunk-delay 20]] [[long 500]]', { stream: true }),
      charged('Brief', null),
    ],
    ['of the provider that took over', ask('pair', '[[usage 1000 20]]'), charged('Backup', thousand)],
  ])('%s', async (_name, body, expected) => {
    expect(await recorded(await post('chat/completions', body))).toEqual(expected);
  });

  test('of images, by the rate of their size', async () => {
    const order = { model: 'drawn', prompt: 'A gate', size: '1024x1024', n: 2 };
    const response = await post('images/generations', order);
    expect(await recorded(response)).toEqual(charged('Main', '0.022000000000'));
  });
});

describe('a call without a charge', () => {
  test.each([
    ['an answer without usage', ask('known', '[[no-usage]]'), unknown('Main')],
    ['an answer that is not JSON', ask('known', '[[not-json]]'), unknown('Main')],
    ['silence', ask('slow', '[[hang]]'), unknown('Slow')],
    ['a connection that broke', ask('known', '[[close]]'), unknown('Main')],
    ['a stream that broke', ask('known', 'a b c d [[cut 3]]', { stream: true }), unknown('Main')],
    ['a stream without usage', ask('known', '[[no-usage]]', { stream: true }), unknown('Main')],
    ['a stream without anything', ask('known', '[[empty]]', { stream: true }), unknown('Main')],
    ['a failure before an answer', ask('known', '[[status 503]]'), { charge: null, uncharged: [] }],
    ['a rate limit', ask('known', '[[status 429]]', { stream: true }), { charge: null, uncharged: [] }],
    ['a provider that cannot be reached', ask('gone', 'hi'), { charge: null, uncharged: [] }],
  ])('%s', async (_name, body, expected) => {
    expect(await recorded(await post('chat/completions', body))).toEqual(expected);
  });

  test('an unreadable answer that states its usage, before another provider takes over', async () => {
    const sent = post('chat/completions', ask('odd', 'first-odd [[usage 1000 20]]'));
    // It contradicts itself, and is read as it would be charged.
    const usage = { prompt_tokens: 2_000, completion_tokens: 5, total_tokens: 2_003 };
    (await scripted.received('first-odd')).reply({ choices: [], usage });
    expect(await recorded(await sent)).toEqual({
      charge: { provider: 'Backup', cost: thousand },
      uncharged: [{ provider: 'Odd', tokens: '2000/3', cost: '0.001975308642' }],
    });
  });

  test('a stream of nothing but usage, before another provider takes over', async () => {
    const sent = post('chat/completions', ask('odd', 'second-odd [[usage 1000 20]]', { stream: true }));
    const exchange = await scripted.received('second-odd');
    for (const event of [usageEvent(1_000, 0), '[DONE]'] as const) exchange.send(event);
    expect(await recorded(await sent)).toEqual({
      charge: { provider: 'Backup', cost: thousand },
      uncharged: [{ provider: 'Odd', tokens: '1000/0', cost: thousand }],
    });
  });

  test('a result that the balance does not cover is withheld', async () => {
    const ofLength = (usage: string) => `[[usage ${usage}]]`.padEnd(40, 'x');
    const probe = await post('chat/completions', ask('known', ofLength('1 1'), { max_tokens: 10 }));
    const [row] = await fixture.database.sql<[{ hold: string; tokens: bigint }]>`
      select hold, ((hold - 0.00002) * 1000000)::bigint as tokens from generations
      where replace(id::text, '-', '') = ${(probe.headers.get('x-service-request-id') ?? '').slice(4)}`;
    const { key } = await fixture.customer(row.hold);
    const input = row.tokens + 4n;
    const response = await post(
      'chat/completions',
      ask('known', ofLength(`${input} 15`), { max_tokens: 10 }),
      key,
    );
    expect(response.status).toBe(402);
    expect(await recorded(response, key)).toEqual({
      charge: null,
      uncharged: [
        {
          provider: 'Main',
          tokens: `${input}/15`,
          cost: formatMoney(divideHalfUp(BigInt(canary) * input, 1_000n)),
        },
      ],
    });
  });
});

const today = dayOf(new Date());
const path = '/api/console/operator/margins';

async function margins(query = ''): Promise<Margins> {
  const response = await fixture.people.operator.send('GET', `${path}${query}`);
  expect(response.status).toBe(200);
  return (await response.json()) as Margins;
}

/** Added up here from the records themselves. */
async function expectedTotals(): Promise<MarginFigures> {
  const [row] = await fixture.database.sql<[MarginFigures]>`
    with charges as (
      select count(*)::int as requests, sum(cost) as revenue, sum(provider_cost) as cost,
             (count(*) filter (where provider_cost is null))::int as unpriced_requests,
             coalesce(sum(cost) filter (where provider_cost is null), 0) as unpriced_revenue
      from usage_records where refunded_at is null
    ), calls as (
      select count(*)::int as uncharged_attempts, sum(cost) as uncharged_cost,
             (count(*) filter (where cost is null))::int as unknown_attempts
      from uncharged_attempts
    )
    select requests, revenue::text, cost::text, uncharged_attempts, uncharged_cost::text,
           (revenue - unpriced_revenue - cost - uncharged_cost)::text as margin, unpriced_requests,
           unpriced_revenue::text, unknown_attempts
    from charges, calls`;
  return { ...row };
}

describe('margins', () => {
  test('are the same by day, model, provider and account, before and after they are added up', async () => {
    const expected = await expectedTotals();
    expect(expected.unknown_attempts).toBe(7);
    for (const isAddedUp of [false, true]) {
      if (isAddedUp) await addUpUsage(fixture.database.sql);
      for (const by of ['day', 'model', 'provider', 'account']) {
        const { totals, rows, others } = await margins(`?by=${by}`);
        expect(totals).toEqual(expected);
        expect(others).toBeNull();
        expect(rows.reduce((sum, { requests }) => sum + requests, 0)).toBe(expected.requests);
      }
    }
    const byProvider = (await margins('?by=provider')).rows;
    expect(byProvider.find(({ id }) => id === 'Odd')).toMatchObject({
      requests: 0,
      revenue: '0.000000000000',
      uncharged_attempts: 2,
      uncharged_cost: '0.002962962963',
      margin: '-0.002962962963',
      unknown_attempts: 0,
    });
    const revenues = byProvider.map(({ revenue }) => parseMoney(revenue) ?? 0n);
    expect(revenues).toEqual(revenues.toSorted((one, other) => (one > other ? -1 : 1)));
    expect((await margins('?by=account')).rows).toContainEqual(
      expect.objectContaining({ id: fixture.account, name: 'Test' }),
    );
    expect((await margins('?by=day')).rows).toMatchObject([{ id: today, name: today }]);
  });

  test('are sorted by what is asked for', async () => {
    for (const by of ['day', 'model', 'provider', 'account']) {
      const lowest = (await margins(`?by=${by}&order=lowest_margin`)).rows;
      const amounts = lowest.map(({ margin }) => parseMoney(margin) ?? 0n);
      expect(amounts).toEqual(amounts.toSorted((one, other) => (one < other ? -1 : 1)));
      const highest = (await margins(`?by=${by}&order=highest_margin`)).rows;
      expect(highest.map(({ margin }) => margin)).toEqual(lowest.map(({ margin }) => margin).toReversed());
      expect(highest).toHaveLength(lowest.length);
    }
    expect((await margins('?by=provider&order=lowest_margin')).rows[0]?.margin).toStartWith('-');
    const refused = await fixture.people.operator.send('GET', `${path}?order=name`);
    expect([refused.status, ((await refused.json()) as ErrorBody).error.param]).toEqual([400, 'order']);
  });

  test('are those of the days that were asked for', async () => {
    const yesterday = addDays(today, -1);
    const { totals, rows } = await margins(`?from=${addDays(yesterday, -300)}&to=${yesterday}`);
    expect([totals.requests, totals.uncharged_attempts, rows.length]).toEqual([0, 0, 0]);
    expect((await margins(`?from=${today}&to=${today}`)).totals).toEqual(await expectedTotals());
  });

  test('that get no row of their own are one sum', async () => {
    const operator = await operatorId();
    const range = { from: today, to: today };
    const all = await findMargins(fixture.database.sql, operator, range, 'model', 1_000);
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: all.length + 1 }), async (max) => {
        const rows = await findMargins(fixture.database.sql, operator, range, 'model', max);
        expect(rows.filter(({ name }) => name !== null)).toEqual(all.slice(0, max));
        const others = rows.find(({ name }) => name === null);
        expect(Number(others?.groups ?? 0)).toBe(Math.max(0, all.length - max));
        const revenue = all.slice(max).reduce((sum, row) => sum + row.revenue, 0n);
        expect(others?.revenue ?? 0n).toBe(revenue);
      }),
      { numRuns: 8 },
    );
  });

  test('as a file: the same figures, exact', async () => {
    const response = await fixture.people.operator.send('GET', `${path}.csv?by=provider`);
    expect(response.headers.get('content-disposition')).toContain(`margins-by-provider-`);
    const [header, ...lines] = (await response.text()).trim().split('\r\n');
    expect(header).toStartWith('id,name,requests,revenue_usd,cost_usd,');
    const { rows } = await margins('?by=provider');
    expect(lines.map((line) => line.split(',')[7])).toEqual(rows.map(({ margin }) => margin));
  });

  test.each([
    ['?by=key', 'by'],
    ['?by=constructor', 'by'],
    ['?from=2020-01-01&to=2026-01-01', 'from'],
    ['?from=2026-02-01&to=2026-01-01', 'from'],
    ['?to=tomorrow', 'to'],
    ['?limit=5', 'limit'],
  ])('%s is refused', async (query, param) => {
    const response = await fixture.people.operator.send('GET', `${path}${query}`);
    const { error } = (await response.json()) as ErrorBody;
    expect([response.status, error.param]).toEqual([400, param]);
  });

  test('nobody else gets any, even from the query itself', async () => {
    const [owner] = await fixture.database.sql<[{ id: string }]>`
      select id from users where email = 'owner@example.com'`;
    const asked = findMargins(fixture.database.sql, owner.id, { from: today, to: today }, 'day', 10);
    expect(await asked.catch((error: ApiError) => error.code)).toBe('permission_denied');
  });
});

async function operatorId(): Promise<string> {
  const [row] = await fixture.database.sql<[{ id: string }]>`
    select id from users where email = 'operator@example.com'`;
  return row.id;
}

describe('customers see nothing of it', () => {
  const forbidden = new RegExp(`${canary}|uncharged|provider_?cost|margin|unpriced`, 'i');

  test('in any response of the API', async () => {
    const [row] = await fixture.database.sql<[{ id: string }]>`
      select replace(generation_id::text, '-', '') as id from uncharged_attempts
      where account_id = ${fixture.account} and cost is not null limit 1`;
    const paths = Object.entries(createDocument().paths).flatMap(([name, methods]) =>
      'get' in methods && name.startsWith('/v1/') ? [name] : [],
    );
    expect(paths.length).toBeGreaterThan(4);
    for (const name of paths) {
      const address = name.replace('{request_id}', `req_${row.id}`).replace(/\{.*\}/, 'known');
      const response = await fetch(`${fixture.gateway.origin}${address}`, {
        headers: { authorization: `Bearer ${fixture.key}` },
      });
      expect([address, response.status]).toEqual([address, 200]);
      expect(await response.text()).not.toMatch(forbidden);
    }
    const document = await (await fetch(`${fixture.gateway.origin}/openapi.json`)).text();
    expect(document).not.toMatch(forbidden);
  });

  test('while another provider takes over', async () => {
    const sent = post('chat/completions', ask('odder', 'third-odd'));
    const usage = { prompt_tokens: 1_000, completion_tokens: 1, total_tokens: 1_001 };
    (await scripted.received('third-odd')).reply({ choices: [], usage });
    const next = await scripted.received('third-odd');
    const [open] = await fixture.database.sql<[{ id: string; attempts: string }]>`
      select replace(id::text, '-', '') as id, attempts::text from open_generations where model = 'odder'`;
    // It is there, for whoever has to close the request, and nowhere else.
    expect(open.attempts).toContain(canary);
    const headers = { authorization: `Bearer ${fixture.key}` };
    for (const place of [`/v1/generations/req_${open.id}`, '/v1/generations']) {
      const text = await (await fetch(`${fixture.gateway.origin}${place}`, { headers })).text();
      expect(text).toContain(open.id);
      expect(text).not.toMatch(forbidden);
    }
    for (const page of [`generations/req_${open.id}`, 'generations', 'overview']) {
      const path = `/api/console/accounts/${fixture.account}/${page}`;
      expect(await (await fixture.people.owner.send('GET', path)).text()).not.toMatch(forbidden);
    }
    const choice = { index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' };
    next.reply({ choices: [choice], usage });
    expect(await recorded(await sent)).toEqual({
      charge: { provider: 'Even', cost: thousand },
      uncharged: [{ provider: 'Odd', tokens: '1000/1', cost: thousand }],
    });
  });

  test('in any response of the dashboard, as the owner of the account', async () => {
    const account = `/api/console/accounts/${fixture.account}`;
    const [row] = await fixture.database.sql<[{ id: string }]>`
      select replace(generation_id::text, '-', '') as id from uncharged_attempts
      where account_id = ${fixture.account} and cost is not null limit 1`;
    const pages = [
      '/api/console/me',
      ...['keys', 'members', 'models', 'overview', 'requests', 'usage', 'usage.csv', 'ledger'].map(
        (page) => `${account}/${page}`,
      ),
      `${account}/requests/req_${row.id}`,
    ];
    for (const page of pages) {
      const response = await fixture.people.owner.send('GET', page);
      expect([page, response.status]).toEqual([page, 200]);
      expect(await response.text()).not.toMatch(forbidden);
    }
  });
});
