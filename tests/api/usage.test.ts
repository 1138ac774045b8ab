import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import fc from 'fast-check';
import { newId, uuidFromRequestId } from '../../src/lib/ids.ts';
import { formatMoney } from '../../src/lib/money.ts';
import { parseLimit } from '../../src/usage/handler.ts';
import { presentUsage } from '../../src/usage/present.ts';
import { chargesQuery, findRecentUsage, recentUsageQuery } from '../../src/usage/usage-store.ts';
import { type ChatFixture, type ErrorBody, openChatFixture } from '../support/chat-fixture.ts';
import { createDatabase } from '../support/cluster.ts';
import { runCommand } from '../support/commands.ts';
import { eventually } from '../support/eventually.ts';

type Figures = {
  requests: number;
  input_tokens: number;
  output_tokens: number;
  total_tokens: number;
  cost: number;
};
type UsageBody = {
  object: string;
  data: ({ id: string; date: string; model: string } & Figures)[];
  totals: Figures;
};

let fixture: ChatFixture;
let owner: { account: string; key: string; keyId: string };

beforeAll(async () => {
  fixture = await openChatFixture();
  owner = await fixture.customer('10');
});

afterAll(() => fixture.close());

function chat(key: string, content: string, model = 'full', more: object = {}): Promise<Response> {
  return fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content }], ...more }),
  });
}

const ask = (query = '', key = owner.key) =>
  fetch(`${fixture.gateway.origin}/v1/usage${query}`, { headers: { authorization: `Bearer ${key}` } });

async function usage(query = '', key = owner.key): Promise<UsageBody> {
  const response = await ask(query, key);
  expect(response.status).toBe(200);
  return (await response.json()) as UsageBody;
}

const uuidOf = (response: Response) =>
  uuidFromRequestId(response.headers.get('x-service-request-id') ?? '') ?? '';

async function expectError(response: Response, status: number, code: string, param?: string): Promise<void> {
  const { error } = (await response.json()) as ErrorBody;
  expect([response.status, error.code, error.param]).toEqual([status, code, param]);
}

describe('200', () => {
  test('an account that used nothing has an empty list and totals of zero', async () => {
    const customer = await fixture.customer('1');
    expect(await (await ask('', customer.key)).text()).toBe(
      '{"object":"list","data":[],"totals":{"requests":0,"input_tokens":0,"output_tokens":0,"total_tokens":0,"cost":0}}',
    );
  });

  test('one record for each billed Generation of the account, newest first, exact to the last digit', async () => {
    const customer = await fixture.customer('10');
    const sibling = await runCommand<{ key: string }>(
      ['key', 'create', '--account', customer.account],
      fixture.environment,
    );
    const first = uuidOf(await chat(customer.key, '[[usage 10 5]] hi'));
    const second = uuidOf(await chat(sibling.key, '[[usage 200 1]] hi', 'tiered'));
    await chat(customer.key, '[[status 503]]');
    const third = uuidOf(await chat(customer.key, '[[usage 0 0]] hi'));

    const response = await ask('', customer.key);
    const text = await response.clone().text();
    const { object, data, totals } = (await response.json()) as UsageBody;
    expect(object).toBe('list');
    expect(data.map(({ id }) => id)).toEqual([third, second, first]);
    expect(data.map(({ model }) => model)).toEqual(['full', 'tiered', 'full']);
    for (const record of data) {
      expect(Object.keys(record)).toEqual([
        'id',
        'date',
        'model',
        'requests',
        'input_tokens',
        'output_tokens',
        'total_tokens',
        'cost',
      ]);
      expect(record.date).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect(Math.abs(Date.parse(record.date) - Date.now())).toBeLessThan(600_000);
    }
    const figures =
      '"requests":1,"input_tokens":200,"output_tokens":1,"total_tokens":201,"cost":0.000604000001';
    expect(text).toContain(figures);
    expect(text).toContain('"input_tokens":10,"output_tokens":5,"total_tokens":15,"cost":0.00002}');
    expect(text).toContain('"input_tokens":0,"output_tokens":0,"total_tokens":0,"cost":0}');
    expect(text).toEndWith(
      '"totals":{"requests":3,"input_tokens":210,"output_tokens":6,"total_tokens":216,"cost":0.000624000001}}',
    );
    expect(totals.cost).toBe(0.000624000001);
    // Both keys of the account see the same, and nobody else does.
    expect(await usage('', sibling.key)).toEqual(await usage('', customer.key));
    expect((await usage()).data).toEqual([]);
  });

  test('the totals are those of the rows returned', async () => {
    const customer = await fixture.customer('10');
    for (const tokens of [1, 2, 4]) await chat(customer.key, `[[usage ${tokens} 0]] hi`);
    const { data, totals } = await usage('?limit=2', customer.key);
    expect(data.map((record) => record.input_tokens)).toEqual([4, 2]);
    expect(totals).toEqual({
      requests: 2,
      input_tokens: 6,
      output_tokens: 0,
      total_tokens: 6,
      cost: 0.000006,
    });
  });

  test('50 rows by default, and a limit outside 1 to 500 becomes the nearest', async () => {
    const customer = await fixture.customer('10');
    await Promise.all(Array.from({ length: 51 }, () => chat(customer.key, '[[usage 1 1]] hi')));
    const counts = await Promise.all(
      ['', '?limit=50', '?limit=51', '?limit=500', '?limit=501', '?limit=99999999999999999999999'].map(
        async (query) => (await usage(query, customer.key)).data.length,
      ),
    );
    expect(counts).toEqual([50, 50, 51, 51, 51, 51]);
    for (const query of ['?limit=1', '?limit=0', '?limit=-7', '?limit=-99999999999999999999999'])
      expect((await usage(query, customer.key)).data.length).toBe(1);
  });

  test('a stream whose balance ran out shows what was debited, not what it would have cost', async () => {
    const ofLength = (directive: string) => `[[usage ${directive}]]`.padEnd(40, 'x');
    const stream = { stream: true, max_tokens: 10 };
    const rich = await fixture.customer('1');
    await (await chat(rich.key, ofLength('1 1'), 'full', stream)).text();
    const [{ hold, tokens }] = await fixture.database.sql<[{ hold: string; tokens: bigint }]>`
      select hold, ((hold - 0.00002) * 1000000)::bigint as tokens from generations where account_id = ${rich.account}`;
    // Providers count slightly differently: a few tokens more than were held for are tolerated.
    const customer = await fixture.customer(hold);
    await (await chat(customer.key, ofLength(`${tokens + 4n} 15`), 'full', stream)).text();
    const { data } = await usage('', customer.key);
    expect(data).toMatchObject([{ input_tokens: Number(tokens + 4n), cost: Number(hold) }]);
  });

  test('reveals nothing of the conversation', async () => {
    const customer = await fixture.customer('1');
    await chat(customer.key, '[[say completion-canary]] prompt-canary');
    const text = await (await ask('', customer.key)).text();
    expect(text).toContain('"model":"full"');
    expect(text).not.toContain('canary');
  });
});

describe('400, 401 and 404', () => {
  test.each([
    '',
    'x',
    '1.5',
    '1.0',
    '1e2',
    '0x10',
    'NaN',
    'Infinity',
    '%205',
    '%2B5',
    '5,6',
    '--5',
    '-',
    '%D9%A3',
  ])('invalid_parameter for limit=%s', async (limit) => {
    await expectError(await ask(`?limit=${limit}`), 400, 'invalid_parameter', 'limit');
  });

  test('there is no other parameter', async () => {
    for (const name of ['cursor', 'start_date', 'provider', 'model'])
      await expectError(await ask(`?${name}=x`), 400, 'unsupported_parameter', name);
    await expectError(await ask('?limit=1&limit=2'), 400, 'invalid_parameter', 'limit');
  });

  test('without a valid key nothing is read', async () => {
    await expectError(await ask('?limit=x', 'nothing'), 401, 'invalid_api_key');
    await expectError(await fetch(`${fixture.gateway.origin}/v1/usage`), 401, 'invalid_api_key');
  });

  test('usage cannot be written', async () => {
    await expectError(
      await fetch(`${fixture.gateway.origin}/v1/usage`, { method: 'POST' }),
      404,
      'not_found',
    );
  });
});

describe('500', () => {
  test.each([
    ['usage_records', 'usage_lookup_failed'],
    ['ledger_entries', 'usage_cost_lookup_failed'],
  ])('without the table %s: %s', async (table, code) => {
    const { sql } = fixture.database;
    await chat(owner.key, 'hi');
    expect((await ask()).status).toBe(200);
    await sql.unsafe(`alter table ${table} rename to table_away`);
    const response = await ask();
    await sql.unsafe(`alter table table_away rename to ${table}`);
    expect(await response.clone().text()).not.toContain(table);
    await expectError(response, 500, code);
    expect((await ask()).status).toBe(200);
  });

  test('usage_lookup_failed when the key cannot be looked up', async () => {
    const fresh = await fixture.customer('1');
    await fixture.database.sql`alter table api_keys rename to api_keys_away`;
    const response = await ask('', fresh.key);
    await fixture.database.sql`alter table api_keys_away rename to api_keys`;
    await expectError(response, 500, 'usage_lookup_failed');
  });

  test('usage_cost_lookup_failed, and no made-up cost, when a charge is missing', async () => {
    const customer = await fixture.customer('1');
    const id = await recordWithoutCharge(customer);
    const response = await ask('', customer.key);
    await fixture.database.sql`delete from usage_records where id = ${id}`;
    await expectError(response, 500, 'usage_cost_lookup_failed');
  });
});

async function recordWithoutCharge({ account, keyId }: typeof owner): Promise<string> {
  const id = newId();
  await fixture.database.sql`
    insert into usage_records (id, account_id, key_id, model, input_tokens, output_tokens, units, unit, cost,
      price_list_id, month, billed_at)
    values (${id}, ${account}, ${keyId}, 'full', 1, 1, 2, 'tokens', 0, 1, '2026-01-01', now())`;
  return id;
}

test('a month that is archived between the two queries is gone from both', async () => {
  const { sql } = fixture.database;
  const customer = await fixture.customer('1');
  const id = await recordWithoutCharge(customer);
  const archiver = await sql.reserve();
  await archiver`begin`;
  await archiver`lock table ledger_entries in access exclusive mode`;
  const pending = ask('', customer.key);
  await eventually('the charges are asked for', async () => {
    const waiting = await sql`
      select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%ledger_entries%'`;
    return waiting.length > 0;
  });
  await archiver`delete from usage_records where id = ${id}`;
  await archiver`commit`;
  await archiver.release();
  const response = await pending;
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ data: [] });
});

test('any integer is a limit, and nothing else', () => {
  fc.assert(
    fc.property(fc.bigInt(), (value) => {
      const limit = parseLimit(`${value}`);
      expect(limit).toBe(value < 1n ? 1 : value > 500n ? 500 : Number(value));
    }),
  );
  fc.assert(
    fc.property(fc.string(), (text) => {
      fc.pre(!/^-?\d+$/.test(text));
      expect(() => parseLimit(text)).toThrow('limit');
    }),
  );
});

test('every figure prints exactly, and the totals are exact sums', () => {
  const record = fc.record({
    id: fc.uuid(),
    billedAt: fc.date({ noInvalidDate: true }),
    model: fc.string(),
    inputTokens: fc.bigInt({ min: 0n, max: 2n ** 53n }),
    outputTokens: fc.bigInt({ min: 0n, max: 2n ** 53n }),
    cost: fc.bigInt({ min: 0n, max: 10n ** 26n }),
  });
  fc.assert(
    fc.property(fc.array(record, { maxLength: 20 }), (records) => {
      const text = JSON.stringify(presentUsage(records));
      const costs = [...text.matchAll(/"cost":(\d+(?:\.\d{0,11}[1-9])?)\}/g)].map((match) => match[1] ?? '');
      const total = records.reduce((sum, { cost }) => sum + cost, 0n);
      const inFull = (decimal: string) => {
        const [whole = '', fraction = ''] = decimal.split('.');
        return `${whole}.${fraction.padEnd(12, '0')}`;
      };
      expect(costs.map(inFull)).toEqual([...records.map(({ cost }) => cost), total].map(formatMoney));
      const tokens = records.reduce((sum, one) => sum + one.inputTokens + one.outputTokens, 0n);
      expect(text.slice(text.lastIndexOf('"totals"'))).toContain(`"total_tokens":${tokens},`);
    }),
  );
});

test('what is read is no more than what is shown, however much there is and whatever other accounts do', async () => {
  const database = await createDatabase();
  const sql = new SQL(database.url, { max: 1, bigint: true });
  const [quiet, busy] = [newId(), newId()];
  await sql.begin(async (transaction) => {
    await transaction`set local synchronous_commit = off`;
    await transaction`
      insert into usage_records (id, account_id, key_id, model, input_tokens, output_tokens, units, unit, cost,
        price_list_id, month, billed_at)
      select gen_random_uuid(), case when n < 50000 then ${quiet} else ${busy} end::uuid, ${newId()}, 'm', 1, 1, 2, 'tokens',
             0, 1, '2026-01-01', timestamptz '2026-01-01' + n * interval '1 s'
      from generate_series(1, 100000) as n`;
    await transaction`
      insert into ledger_entries (account_id, number, kind, amount, balance_after, generation_id)
      select account_id, row_number() over (), 'charge', 0, 0, id from usage_records`;
    await transaction`analyze usage_records, ledger_entries`;
  });
  const buffersOf = async (ask: () => Promise<[{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }]>) => {
    // The first time the plan is made, which reads the catalogue.
    await ask();
    const [row] = await ask();
    const { Plan: plan } = row['QUERY PLAN'][0];
    return (plan['Shared Hit Blocks'] ?? Number.NaN) + (plan['Shared Read Blocks'] ?? Number.NaN);
  };
  for (const account of [quiet, busy, newId()]) {
    for (const limit of [50, 500]) {
      const records = await findRecentUsage(sql, account, limit);
      const ids = records.map(({ id }) => id);
      const ofRecords = await buffersOf(
        () => sql`explain (analyze, buffers, format json) ${recentUsageQuery(sql, account, limit)}`,
      );
      const ofCharges = await buffersOf(
        () => sql`explain (analyze, buffers, format json) ${chargesQuery(sql, ids)}`,
      );
      expect(ofRecords).toBeLessThan(20 + limit);
      // Their IDs are random here, so each has its own path through the index and its own page.
      expect(ofCharges).toBeLessThan(20 + 5 * limit);
    }
  }
  await sql.close({ timeout: 1 });
  await database.close();
});
