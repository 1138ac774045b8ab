/** The console's requests: the list of an account, and one of them with what became of the money. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { SQL } from 'bun';
import fc from 'fast-check';
import { createAccount } from '../../src/accounts/account-store.ts';
import { findPage } from '../../src/console/generations.ts';
import type { FoundGeneration, RequestPage } from '../../src/console/request-contract.ts';
import { parseListFilter } from '../../src/console/request-filter.ts';
import { scopeOfRequests } from '../../src/console/requests.ts';
import { encodeCursor } from '../../src/generations/cursor.ts';
import { newestPosition } from '../../src/generations/generation-store.ts';
import { createKey } from '../../src/keys/key-store.ts';
import { lossOf } from '../../src/ledger/settlement.ts';
import { deriveKeys } from '../../src/lib/derived-keys.ts';
import { newId, requestIdFromUuid, uuidFromRequestId } from '../../src/lib/ids.ts';
import { chatCatalog, type ErrorBody, finishedGeneration } from '../support/chat-fixture.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { runCommand } from '../support/commands.ts';
import { type ConsoleFixture, openConsoleFixture, outcomeFor } from '../support/console-fixture.ts';
import { startHeldProvider } from '../support/held-provider.ts';
import { asHolderOf, openLeavingClient } from '../support/leaving-client.ts';
import { dollars, refund, settleAs } from '../support/rare-settlements.ts';

type List = RequestPage;

/** Answers marked requests only when allowed to. */
const held = startHeldProvider('(held)');

let fixture: ConsoleFixture;
let path: string;
let secondKey: { id: string; key: string };
/** The request IDs, the oldest first: of both keys in turn. */
let made: string[];
let strangers: string;

beforeAll(async () => {
  fixture = await openConsoleFixture((url) => chatCatalog(held.behind(url)));
  path = `/api/console/accounts/${fixture.account}/requests`;
  secondKey = await runCommand(
    ['key', 'create', '--account', fixture.account, '--name', 'Second'],
    fixture.environment,
  );
  made = [];
  for (const [key, model, content] of [
    [fixture.key, 'full', '[[usage 10 5]] hi'],
    [secondKey.key, 'full', '[[status 503]]'],
    [fixture.key, 'fallback', '[[usage 3 4]] hi'],
    [secondKey.key, 'plain', 'hi'],
    [fixture.key, 'plain', '[[status 503]]'],
    [secondKey.key, 'full', '[[usage 1 1]] hi'],
  ] as const)
    made.push(idOf(await chat(key, model, content)));
  const { key } = await runCommand<{ key: string }>(
    ['key', 'create', '--account', fixture.strangersAccount],
    fixture.environment,
  );
  strangers = idOf(await chat(key, 'full', 'hi'));
}, 60_000);

afterAll(async () => {
  await fixture.close();
  await held.stop();
});

const ownerOf = ({ account, keyId }: ConsoleFixture) => ({ accountId: account, keyId });
const idOf = (response: Response) => response.headers.get('x-service-request-id') ?? '';

function chat(key: string, model: string, content: string): Promise<Response> {
  return fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      messages: [{ role: 'user', content }],
      ...(content.includes('[[long') || content.includes('[[no-usage') ? { stream: true } : {}),
    }),
  });
}

const ask = (query = '') => fixture.people.member.send('GET', path + query);

async function listOf(query = ''): Promise<List> {
  const response = await ask(query);
  expect(response.status).toBe(200);
  return (await response.json()) as List;
}

const idsOf = async (query: string) => (await listOf(query)).data.map(({ id }) => id);

async function detailOf(id: string): Promise<FoundGeneration['request']> {
  const response = await ask(`/${id}`);
  expect(response.status).toBe(200);
  return ((await response.json()) as FoundGeneration).request;
}

async function errorOf(response: Response): Promise<[number, string, string | undefined]> {
  const { error } = (await response.json()) as ErrorBody;
  return [response.status, error.code, error.param];
}

const tokens = {
  inputTokens: 10,
  outputTokens: 5,
  cached: null,
  units: 15,
  unit: 'tokens',
  tier: null,
} as const;

const newest = (...places: number[]) => places.map((place) => made[place] ?? '').toReversed();

describe('who may', () => {
  test('one of another account is not found, whichever way it is requested', async () => {
    const { owner, stranger } = fixture.people;
    const theirs = `/api/console/accounts/${fixture.strangersAccount}/requests`;
    expect(await outcomeFor(owner, 'GET', `${path}/${strangers}`)).toBe('generation_not_found');
    expect(await outcomeFor(owner, 'GET', `${theirs}/${strangers}`)).toBe('account_not_found');
    expect(await outcomeFor(owner, 'GET', `${theirs}/${made[0]}`)).toBe('account_not_found');
    expect(await outcomeFor(stranger, 'GET', `${theirs}/${made[0]}`)).toBe('generation_not_found');
    expect(await outcomeFor(stranger, 'GET', `${theirs}/${strangers}`)).toBeNull();
    const listed = await stranger.send('GET', theirs);
    expect(((await listed.json()) as List).data.map(({ id }) => id)).toEqual([strangers]);
  });

  test('a key of another account cannot be a filter', async () => {
    expect(await errorOf(await ask(`?key=${fixture.strangersKeyId}`))).toEqual([404, 'key_not_found', 'key']);
    expect(await errorOf(await ask(`?key=${newId()}`))).toEqual([404, 'key_not_found', 'key']);
  });

  test.each([
    ['a number', '1'],
    ['SQL', encodeURIComponent("' or 1=1 --")],
    ['a name of the language', '__proto__'],
    ['NUL', '%00'],
    ['a long text', 'x'.repeat(5_000)],
    ['an ID without its prefix', newId()],
    ['an ID in capitals', requestIdFromUuid(newId()).toUpperCase()],
    ['an unknown ID', requestIdFromUuid(newId())],
  ])('%s in the path names nothing', async (_, word) => {
    const { owner, stranger } = fixture.people;
    expect(await outcomeFor(owner, 'GET', `${path}/${word}`)).toBe('generation_not_found');
    expect(await outcomeFor(stranger, 'GET', `${path}/${word}`)).toBe('account_not_found');
    expect(await outcomeFor(owner, 'GET', `/api/console/accounts/${word}/requests`)).toBe(
      'account_not_found',
    );
  });
});

describe('the list', () => {
  test('has the Generations of all keys, the newest first, with the name of each key', async () => {
    const { data, has_more: hasMore, next_cursor: next } = await listOf();
    expect(data.map(({ id }) => id)).toEqual(newest(0, 1, 2, 3, 4, 5));
    expect([hasMore, next]).toEqual([false, null]);
    const [row] = await fixture.database.sql`select name from api_keys where id = ${fixture.keyId}`;
    const first = { id: fixture.keyId, name: row.name };
    const second = { id: secondKey.id, name: 'Second' };
    expect(data.map(({ key }) => key)).toEqual([second, first, second, first, second, first]);
    expect(data[5]).toMatchObject({
      status: 'completed',
      model: 'full',
      usage: { input_tokens: 10, output_tokens: 5, units: 15 },
      cost: '0.000020000000',
    });
  });

  test.each([
    ['?status=completed', [0, 2, 3, 5]],
    ['?status=failed', [1, 4]],
    ['?status=cancelled', []],
    ['?status=in_progress', []],
    ['?model=full', [0, 1, 5]],
    ['?model=plain&status=failed', [4]],
    ['?model=nothing', []],
    ["?model='%20or%201%3D1", []],
    ['?key=first', [0, 2, 4]],
    ['?key=second', [1, 3, 5]],
    ['?key=second&status=failed', [1]],
    ['?key=first&model=full&status=completed', [0]],
    ['?key=first&status=cancelled', []],
  ])('%s', async (query, places) => {
    const filled = query.replace('first', fixture.keyId).replace('second', secondKey.id.toUpperCase());
    expect(await idsOf(filled)).toEqual(newest(...places));
  });

  test.each(['', 'status=completed', 'model=full', 'key=second'])(
    'pages of %p are the list, whatever their size',
    async (filter) => {
      const filled = filter.replace('second', secondKey.id);
      const whole = await idsOf(`?${filled}`);
      for (const limit of [1, 2, 3]) {
        const seen: string[] = [];
        let cursor: string | null = null;
        do {
          const next: string = cursor === null ? '' : `&cursor=${cursor}`;
          const page = await listOf(`?${filled}&limit=${limit}${next}`.replace('?&', '?'));
          expect(page.data.length).toBeLessThanOrEqual(limit);
          expect(page.has_more).toBe(page.next_cursor !== null);
          seen.push(...page.data.map(({ id }) => id));
          cursor = page.next_cursor;
        } while (cursor !== null);
        expect(seen).toEqual(whole);
      }
    },
  );

  test('open ones are among them, and only they have no cost yet', async () => {
    const client = openLeavingClient(
      fixture.gateway.origin,
      '/v1/chat/completions',
      asHolderOf(fixture.key),
      {
        model: 'full',
        messages: [{ role: 'user', content: '(held) [[long 60]] [[chunk-delay 5]]' }],
        stream: true,
      },
    );
    const id = await client.requestId();
    for (const query of ['', '?status=in_progress', '?model=full', `?key=${fixture.keyId}`]) {
      const { data } = await listOf(query);
      expect(data[0]).toMatchObject({
        id,
        status: 'in_progress',
        cost: null,
        key: { id: fixture.keyId },
      });
    }
    expect(await idsOf('?status=completed')).not.toContain(id);
    expect(await detailOf(id)).toMatchObject({
      id,
      status: 'in_progress',
      ledger: null,
      attempts: [{ index: 1, provider: 'Main', status: 'in_progress', completed_at: null }],
    });
    await client.leave();
    held.release();
    const ended = await finishedGeneration(fixture.gateway.origin, fixture.key, id);
    expect(ended.status).toBe('cancelled');
    expect((await idsOf('?status=cancelled'))[0]).toBe(id);
  }, 60_000);

  test.each([
    ['?limit=0', 'invalid_parameter', 'limit'],
    ['?limit=101', 'invalid_parameter', 'limit'],
    ['?limit=1e1', 'invalid_parameter', 'limit'],
    ['?limit=99999999999999999999', 'invalid_parameter', 'limit'],
    ['?status=done', 'invalid_parameter', 'status'],
    ['?status=__proto__', 'invalid_parameter', 'status'],
    ['?model=', 'invalid_parameter', 'model'],
    ['?model=%00', 'invalid_parameter', 'model'],
    ['?key=1', 'invalid_parameter', 'key'],
    ["?key='%20or%201%3D1", 'invalid_parameter', 'key'],
    ['?key=%00', 'invalid_parameter', 'key'],
    ['?constructor=1', 'unsupported_parameter', 'constructor'],
    ['?limit=1&limit=2', 'invalid_parameter', 'limit'],
    ['?cursor=', 'invalid_cursor', 'cursor'],
    ['?cursor=%00', 'invalid_cursor', 'cursor'],
    [`?cursor=${'A'.repeat(76)}`, 'invalid_cursor', 'cursor'],
  ])('%s: %s', async (query, code, param) => {
    expect(await errorOf(await ask(query))).toEqual([400, code, param]);
  });

  test('a cursor is valid for its account and its filters only', async () => {
    const cursor = (await listOf('?limit=1&status=completed')).next_cursor ?? '';
    expect(cursor).not.toBe('');
    expect((await ask(`?cursor=${cursor}&status=completed`)).status).toBe(200);
    for (const filters of ['', '&status=failed', '&status=completed&model=full', `&key=${fixture.keyId}`])
      expect(await errorOf(await ask(`?cursor=${cursor}${filters}`))).toEqual([
        400,
        'invalid_cursor',
        'cursor',
      ]);
    const theirs = `/api/console/accounts/${fixture.strangersAccount}/requests`;
    const taken = await fixture.people.stranger.send('GET', `${theirs}?cursor=${cursor}&status=completed`);
    expect(await errorOf(taken)).toEqual([400, 'invalid_cursor', 'cursor']);
    // Nor is one of the public API, although the same secret signs it.
    const [{ secret }] = await fixture.database.sql<[{ secret: string }]>`select secret from gateway_secret`;
    const scope = scopeOfRequests('account', parseListFilter(new URLSearchParams(), fixture.account));
    const signed = (purpose: string) => encodeCursor(newId(), scope, deriveKeys(secret)(purpose), Date.now());
    expect((await ask(`?cursor=${signed('console cursor')}`)).status).toBe(200);
    expect((await errorOf(await ask(`?cursor=${signed('cursor')}`)))[1]).toBe('invalid_cursor');
  });
});

describe('one of them', () => {
  test('shows its attempts, its key and its charge', async () => {
    const [, , id] = made;
    const [row] = await fixture.database.sql`select name, hint from api_keys where id = ${fixture.keyId}`;
    expect(await detailOf(id ?? '')).toMatchObject({
      id,
      status: 'completed',
      fallback: true,
      usage: { input_tokens: 3, output_tokens: 4 },
      cost: { total: '0.000011000000' },
      routing: { selected_provider: 'Backup', attempt_count: 2 },
      attempts: [
        { index: 1, provider: 'Gone', status: 'failed', error: 'provider_unavailable' },
        { index: 2, provider: 'Backup', status: 'succeeded', upstream_status: 200, error: null },
      ],
      error: null,
      key: { id: fixture.keyId, name: row.name, hint: row.hint },
      ledger: { charged: '0.000011000000', written_off: null, write_off_reason: null },
    });
  });

  test('a failed one says why, and that it cost nothing', async () => {
    expect(await detailOf(made[1] ?? '')).toMatchObject({
      status: 'failed',
      cost: null,
      error: { code: 'provider_unavailable' },
      ledger: { charged: '0.000000000000', written_off: null, write_off_reason: null },
    });
  });

  test('one whose usage is unknown shows the loss', async () => {
    const response = await chat(fixture.key, 'full', '[[no-usage]] hi');
    await response.text();
    expect(await detailOf(idOf(response))).toMatchObject({
      status: 'failed',
      error: { code: 'usage_missing' },
      ledger: { charged: '0.000000000000', written_off: null, write_off_reason: 'usage_missing' },
    });
  });

  test('an estimated charge says that it is one', async () => {
    const id = await settleAs(fixture.database, ownerOf(fixture), {
      status: 'failed',
      errorCode: 'provider_timeout',
      isEstimated: true,
      loss: lossOf('usage_missing'),
    });
    expect(await detailOf(id)).toMatchObject({
      status: 'failed',
      cost: { total: '0.250000000000' },
      ledger: { charged: '0.250000000000', is_estimated: true, refunded: null },
    });
    expect((await detailOf(made[0] ?? '')).ledger?.is_estimated).toBe(false);
  });

  test('the cost by meter adds up to the input and the total, with a cache and without', async () => {
    const cached = await settleAs(fixture.database, ownerOf(fixture), {
      usage: { ...tokens, inputTokens: 1_000, cached: { read: 900, write: 30, writeLong: 20 } },
      cost: {
        input: dollars('0.1'),
        output: dollars('0.15'),
        total: dollars('0.25'),
        cached: { read: dollars('0.03'), write: dollars('0.02'), writeLong: 1n, saved: dollars('-0.4') },
      },
    });
    expect((await detailOf(cached)).meters).toEqual([
      { meter: 'fresh_input', tokens: 50, cost: '0.049999999999' },
      { meter: 'cache_read', tokens: 900, cost: '0.030000000000' },
      { meter: 'cache_write', tokens: 30, cost: '0.020000000000' },
      { meter: 'cache_write_long', tokens: 20, cost: '0.000000000001' },
      { meter: 'output', tokens: 5, cost: '0.150000000000' },
    ]);
    const onlyRead = idOf(await chat(fixture.key, 'full', '[[usage 10 5]] [[cached 10]]'));
    expect(await detailOf(onlyRead)).toMatchObject({
      usage: { input_tokens: 10, cache_read_tokens: 10 },
      meters: [
        { meter: 'fresh_input', tokens: 0, cost: '0.000000000000' },
        { meter: 'cache_read', tokens: 10, cost: '0.000010000000' },
        { meter: 'output', tokens: 5, cost: '0.000010000000' },
      ],
    });
    // Like a record from before caches were recorded.
    expect((await detailOf(made[0] ?? '')).meters).toEqual([
      { meter: 'fresh_input', tokens: 10, cost: '0.000010000000' },
      { meter: 'output', tokens: 5, cost: '0.000010000000' },
    ]);
    expect((await detailOf(made[1] ?? '')).meters).toBeNull();
    const images = await settleAs(fixture.database, ownerOf(fixture), {
      usage: { ...tokens, inputTokens: 0, outputTokens: 0, units: 3, unit: 'images' },
    });
    expect((await detailOf(images)).meters).toBeNull();
  });

  test('a refunded charge is shown with what was charged', async () => {
    const id = await settleAs(fixture.database, ownerOf(fixture));
    await refund(fixture.database, ownerOf(fixture), uuidFromRequestId(id) ?? '');
    expect(await detailOf(id)).toMatchObject({
      status: 'failed',
      cost: null,
      error: { code: 'billing_consistency_error' },
      ledger: { charged: '0.250000000000', refunded: '0.250000000000', is_estimated: false },
    });
  });

  test('what a provider reported beyond all bounds is not shown to the customer', async () => {
    const reported = { inputTokens: 10, outputTokens: 123_456_789 };
    const counts = { prompt_tokens: 987_654_321 };
    const id = await settleAs(fixture.database, ownerOf(fixture), {
      loss: { reason: 'implausible_usage', amount: dollars('60'), reported, counts },
    });
    const detail = await detailOf(id);
    expect(detail.ledger).toEqual({
      charged: '0.250000000000',
      refunded: null,
      refunds: [],
      is_estimated: false,
      written_off: null,
      write_off_reason: null,
    });
    expect(JSON.stringify(detail)).not.toMatch(/123456789|987654321/);
    expect(detail).not.toHaveProperty('reported_usage');
  });

  test('any parameter is refused by name', async () => {
    expect(await errorOf(await ask(`/${made[0]}?limit=1`))).toEqual([400, 'unsupported_parameter', 'limit']);
  });

  test('500 generation_lookup_failed when it cannot be read', async () => {
    const { sql } = fixture.database;
    const relations = ['view generation_details', 'table generation_attributions'];
    const renamed = (relation: string) => `${relation.split(' ')[1]}_away`;
    for (const relation of relations) await sql.unsafe(`alter ${relation} rename to ${renamed(relation)}`);
    try {
      for (const query of ['', '?status=failed', `?key=${fixture.keyId}`, `/${made[0]}`])
        expect((await errorOf(await ask(query))).slice(0, 2)).toEqual([500, 'generation_lookup_failed']);
    } finally {
      for (const relation of relations)
        await sql.unsafe(`alter ${relation}_away rename to ${relation.split(' ')[1]}`);
    }
  });
});

describe('pages of an account with many keys', () => {
  const keyCount = 40;
  const rowCount = 30_000;
  const openCount = 100;
  let database: TestDatabase;
  let caller: { userId: string; accountId: string };
  let keyIds: string[];
  type Listed = { id: string; key_id: string; status: string; model: string };
  /** All of it, the newest first. */
  let all: Listed[];

  beforeAll(async () => {
    database = await createDatabase();
    const { sql } = database;
    caller = { userId: newId(), accountId: (await createAccount(sql, 'Many', 0n)).id };
    await sql`insert into users (id, email, name) values (${caller.userId}, 'many@example.com', 'Many')`;
    await sql`insert into memberships (user_id, account_id, role)
      values (${caller.userId}, ${caller.accountId}, 'member')`;
    keyIds = [];
    for (let count = 0; count < keyCount; count++) {
      const settings = { requestsPerMinute: 1, monthlyLimit: null, allowedModels: null, expiresAt: null };
      const key = await createKey(sql, { accountId: caller.accountId, name: `Key ${count}`, ...settings });
      keyIds.push(key?.id ?? '');
    }
    await sql`select create_partitions((now() - interval '4 months')::date, now()::date)`;
    // The rare ones are at the very beginning, four months ago; a third belongs to other accounts.
    await sql`
      insert into generations (id, account_id, key_id, workload, model, provider, status, streaming, fallback,
        attempt_count, latency_ms, error_code, created_at, completed_at)
      select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid,
             case when n % 3 = 0 then gen_random_uuid() else ${caller.accountId}::uuid end,
             case when n % 3 = 0 then gen_random_uuid()
                  else (${sql.array(keyIds, 'uuid')}::uuid[])[1 + (hashint8(n) & 2147483647) % ${keyCount}::int] end,
             'chat', case when n < 50 then 'rare' else 'model-' || n % 4 end, 'P',
             case when n < 90 then 'cancelled' else 'failed' end, true, false, 1, 1,
             case when n < 90 then null else 'provider_timeout' end, at, at
      from (select n, now() - interval '120 days' * (1 - n / ${rowCount}::float8) as at
            from generate_series(1, ${rowCount}::bigint) as n) as row`;
    await sql`
      insert into open_generations (id, account_id, key_id, node_id, workload, model, provider, streaming, hold,
        price_list_id, attempts, created_at)
      select (lpad(to_hex((extract(epoch from now()) * 1000)::bigint - n * 500), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid,
             ${caller.accountId}, (${sql.array(keyIds, 'uuid')}::uuid[])[1 + n % ${keyCount}::int], ${newId()}, 'chat', 'model-1',
             'P', true, 0, 1, '[]', now()
      from generate_series(1, ${openCount}::int) as n`;
    all = await sql<Listed[]>`
      select id, key_id, status, model from generations where account_id = ${caller.accountId}
      union all
      select id, key_id, 'in_progress', model from open_generations
      order by id desc`;
  }, 60_000);

  afterAll(() => database.close());

  const filters = fc.record({
    status: fc.constantFrom(null, 'in_progress', 'completed', 'failed', 'cancelled') as fc.Arbitrary<
      null | 'in_progress' | 'completed' | 'failed' | 'cancelled'
    >,
    model: fc.constantFrom(null, 'model-1', 'model-2', 'rare', 'nothing'),
    key: fc.option(fc.nat({ max: keyCount - 1 }), { freq: 4 }),
  });

  test('are those of sorting everything, for every filter and place', async () => {
    await fc.assert(
      fc.asyncProperty(
        filters,
        fc.option(fc.nat({ max: rowCount }), { freq: 4 }),
        fc.integer({ min: 1, max: 101 }),
        async ({ status, model, key }, place, limit) => {
          const keyId = key === null ? null : (keyIds[key] ?? null);
          const before = place === null ? newestPosition : (all[place % all.length]?.id ?? newestPosition);
          const matching = all.filter(
            (row) =>
              row.id < before &&
              (status === null || row.status === status) &&
              (model === null || row.model === model) &&
              (keyId === null || row.key_id === keyId),
          );
          const page = await findPage(database.sql, caller, { status, model, keyId }, before, limit);
          expect(page.map(({ id, key_id: of, status: is }) => [id, of, is])).toEqual(
            matching.slice(0, limit).map((row) => [row.id, row.key_id, row.status]),
          );
        },
      ),
      { numRuns: 120 },
    );
  }, 60_000);

  /** How many rows this transaction has read so far, by scanning tables and by indexes. */
  async function readSoFar(connection: SQL): Promise<{ scanned: number; rows: number }> {
    const [row] = await connection<[{ scanned: bigint; rows: bigint }]>`
      select sum(seq_tup_read)::bigint as scanned, sum(idx_tup_fetch)::bigint as rows from pg_stat_xact_user_tables
      where relname ~ '^(generations|open_generations)'`;
    return { scanned: Number(row.scanned), rows: Number(row.rows) };
  }

  test.each(['before', 'after'])('cost the same everywhere, %s the tables are analysed', async (when) => {
    if (when === 'after') await database.sql`analyze generations, open_generations`;
    const deep = all[19_000]?.id ?? '';
    for (const before of [newestPosition, deep])
      for (const status of [null, 'failed', 'cancelled', 'in_progress', 'completed'] as const)
        for (const model of [null, 'model-1', 'rare', 'nothing'])
          await database.sql.begin(async (transaction) => {
            const start = await readSoFar(transaction);
            await findPage(transaction, caller, { status, model, keyId: null }, before, 11);
            const end = await readSoFar(transaction);
            const context = JSON.stringify({ before, status, model, rows: end.rows - start.rows });
            // Everything open may be read, once, and of each month and status no more than its first row and the page.
            expect(end.scanned - start.scanned, context).toBeLessThanOrEqual(openCount);
            expect(end.rows - start.rows, context).toBeLessThan(openCount + 2 * 11 + 3 * 6);
          });
  });
});
