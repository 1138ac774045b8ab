/** What a chat request gets when something it needs is really gone: a table, the database's price list, a secret. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { type ChatFixture, type ErrorBody, openChatFixture } from '../support/chat-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, temporaryFolder } from '../support/gateway.ts';

let fixture: ChatFixture;
let key: string;

beforeAll(async () => {
  fixture = await openChatFixture();
  ({ key } = await fixture.customer('10', '--rpm', '100000'));
});

afterAll(() => fixture.close());

function chat(origin = fixture.gateway.origin, name: string | null = null): Promise<Response> {
  return fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...(name === null ? {} : { 'idempotency-key': name }),
    },
    body: JSON.stringify({ model: 'full', messages: [{ role: 'user', content: 'hello' }] }),
  });
}

async function errorOf(response: Response): Promise<[number, string, string]> {
  const { error } = (await response.json()) as ErrorBody;
  return [response.status, error.type, error.code];
}

/** Runs while a table has another name. */
async function without<Result>(table: string, run: () => Promise<Result>): Promise<Result> {
  await fixture.database.sql.unsafe(`alter table ${table} rename to ${table}_away`);
  try {
    return await run();
  } finally {
    await fixture.database.sql.unsafe(`alter table ${table}_away rename to ${table}`);
  }
}

test.each([
  ['accounts', 'balance_lookup_failed'],
  ['api_key_meters', 'monthly_spend_lookup_failed'],
])(
  'without %s: 500 %s, and afterwards all is well and nothing is held',
  async (table, code) => {
    // The key is cached, unless the notification of its creation arrives only now; what each request looks up is gone.
    const told = await eventually('the key is known', async () => {
      expect((await chat()).status).toBe(200);
      const error = await without(table, async () => errorOf(await chat()));
      return error[2] === 'api_keys_lookup_failed' ? null : error;
    });
    expect(told).toEqual([500, 'internal_error', code]);
    expect((await chat()).status).toBe(200);
    const held = await fixture.database.sql`select count(*)::int as count from accounts where held > 0`;
    expect(held[0]?.count).toBe(0);
  },
  30_000,
);

test('without api_keys: 500 api_keys_lookup_failed for a key that is not cached yet', async () => {
  const { key: fresh } = await fixture.customer('1');
  const known = key;
  key = fresh;
  try {
    const failed = await without('api_keys', async () => errorOf(await chat()));
    expect(failed).toEqual([500, 'internal_error', 'api_keys_lookup_failed']);
    expect((await chat()).status).toBe(200);
  } finally {
    key = known;
  }
});

test('500 model_pricing_lookup_failed while a new price list cannot be stored, and the new price once it can', async () => {
  const file = fixture.environment.TOLLGATE_CATALOG ?? '';
  await without('price_lists', async () => {
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll('input: "1"', 'input: "5"'));
    await eventually('the new catalogue', () => fixture.gateway.output().includes('catalogue reloaded'));
    expect(await errorOf(await chat())).toEqual([500, 'internal_error', 'model_pricing_lookup_failed']);
  });
  const response = await chat();
  expect(response.status).toBe(200);
  const [row] = await fixture.database.sql`
    select content::text like '%"5"%' as is_new from price_lists order by id desc limit 1`;
  expect(row.is_new).toBe(true);
}, 60_000);

test('500 server_not_configured on a node with another secret, for a stored response that it cannot read', async () => {
  const other = await startGateway({
    ...fixture.environment,
    TOLLGATE_DATA: temporaryFolder(),
    AUTH_SECRET: 'another secret of more than 32 characters',
  });
  try {
    expect((await chat(fixture.gateway.origin, 'shared')).status).toBe(200);
    expect(await errorOf(await chat(other.origin, 'shared'))).toEqual([
      500,
      'internal_error',
      'server_not_configured',
    ]);
  } finally {
    await other.stop();
  }
}, 60_000);
