/** What a client sees when the ledger is in trouble, and that the ledger is sound afterwards. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { hashKey } from '../../src/keys/key-format.ts';
import {
  type ChatFixture,
  chatCatalog,
  type ErrorBody,
  eventsOf,
  finishedGeneration,
  openChatFixture,
} from '../support/chat-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/gateway.ts';
import { startHeldProvider } from '../support/held-provider.ts';
import { startQuickGateway } from '../support/quick-lease.ts';

const held = startHeldProvider();
const priced = 'workload: chat, pricing: { billing_type: token, input: "1", output: "2" }';
const patient = 'api_key_env: MAIN_KEY, circuit: { failures: 1000 }';
const catalog = (url: string) =>
  chatCatalog(url, {
    providers: `  held: { name: Held, adapter: openai, base_url: ${held.behind(url)}/v1, ${patient} }`,
    models: `
  held:          { ${priced}, providers: [held] }
  held-fallback: { ${priced}, providers: [gone, held] }
  held-first:    { ${priced}, providers: [held, backup] }`,
  });

let fixture: ChatFixture;
let key: string;

beforeAll(async () => {
  fixture = await openChatFixture(catalog, startQuickGateway);
  ({ key } = await fixture.customer('100', '--rpm', '100000'));
});

afterAll(async () => {
  await fixture.close();
  await held.stop();
});

function chat(content: string, more: object = {}): Promise<Response> {
  return fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'full', messages: [{ role: 'user', content }], ...more }),
  });
}

const idOf = (response: Response) => response.headers.get('x-service-request-id') ?? '';
const look = (response: Response) => finishedGeneration(fixture.gateway.origin, key, idOf(response));
const away = (table: string) => fixture.database.sql.unsafe(`alter table ${table} rename to ${table}_away`);
const back = (table: string) => fixture.database.sql.unsafe(`alter table ${table}_away rename to ${table}`);

async function codeOf(response: Response): Promise<[number, string]> {
  return [response.status, ((await response.json()) as ErrorBody).error.code];
}

async function inBandCode(response: Response): Promise<{ code: string | undefined; isDone: boolean }> {
  const events = eventsOf(await response.text());
  const failed = events.find((event) => event.startsWith('{"error"'));
  return { code: failed && (JSON.parse(failed) as ErrorBody).error.code, isDone: events.at(-1) === '[DONE]' };
}

describe('while nothing can be held or settled', () => {
  let refused: Response;
  let stream: Response;
  let delivered: Awaited<ReturnType<typeof inBandCode>>;
  let withheld: Response;

  // All at the same time, since the gateway tries for several seconds.
  beforeAll(async () => {
    // The key is cached by now, so only the balance has to be looked up.
    expect((await chat('hi')).status).toBe(200);
    stream = await chat('[[usage 10 20]] a b c d e', { model: 'held', stream: true });
    const whole = chat('[[usage 10 20]]', { model: 'held' });
    await held.holds(2);
    // A provider may be called before its hold is committed.
    await eventually('both are held', async () => {
      const [{ count }] = await fixture.database.sql`select count(*)::int as count from open_generations`;
      return count === 2;
    });
    await away('usage_records');
    await away('accounts');
    held.release();
    [refused, delivered, withheld] = await Promise.all([chat('hi'), inBandCode(stream), whole]);
    await back('accounts');
    await back('usage_records');
  });

  test('500 balance_lookup_failed when nothing can be held; what might have been held is released', async () => {
    expect(await codeOf(refused)).toEqual([500, 'balance_lookup_failed']);
  });

  test('in-band billing_temporarily_unavailable when a delivered stream cannot be settled; it is settled later', async () => {
    expect(delivered).toEqual({ code: 'billing_temporarily_unavailable', isDone: true });
    expect(await look(stream)).toMatchObject({ status: 'completed', cost: { total: '0.000050000000' } });
  });

  test('500 billing_consistency_error when a whole answer cannot be settled: it is withheld and never charged', async () => {
    expect(await codeOf(withheld)).toEqual([500, 'billing_consistency_error']);
    expect(await look(withheld)).toMatchObject({
      status: 'failed',
      cost: null,
      error: { code: 'billing_consistency_error' },
    });
  });
});

test('500 provider_attempt_create_failed when the next attempt cannot be recorded: it is not made', async () => {
  await fixture.database
    .sql`alter table open_generations add constraint one_attempt check (jsonb_array_length(attempts) < 2) not valid`;
  const response = await chat('[[status 503]] attempt-canary', { model: 'twofold' });
  await fixture.database.sql`alter table open_generations drop constraint one_attempt`;
  expect(await codeOf(response)).toEqual([500, 'provider_attempt_create_failed']);
  expect(
    fixture.sandbox.entries.filter((entry) => JSON.stringify(entry.body).includes('attempt-canary')),
  ).toHaveLength(1);
  expect(await look(response)).toMatchObject({
    status: 'failed',
    cost: null,
    attempts: [{ status: 'failed' }, { status: 'cancelled' }],
  });
});

describe('a fallback after a crash of the database has lost the hold', () => {
  /** As after a crash that lost the transaction of the hold, and nothing else. Returns the amount. */
  async function loseHold(): Promise<string> {
    const [lost] = await fixture.database.sql<[{ hold: string }]>`
      with lost as (
        delete from open_generations where model = 'held-first' returning account_id, key_id, hold
      ), account as (
        update accounts set held = held - lost.hold from lost where id = account_id
      ), meter as (
        update api_key_meters as meter set held = meter.held - lost.hold, open_count = open_count - 1
        from lost where meter.key_id = lost.key_id
      )
      select hold::text from lost`;
    return lost.hold;
  }

  test('holds the same amount again, and charges once', async () => {
    const sent = chat('[[fail-first 503]] [[usage 10 20]]', { model: 'held-first' });
    await held.holds(1);
    const hold = await loseHold();
    held.release();
    const response = await sent;
    expect(response.status).toBe(200);
    expect(await look(response)).toMatchObject({
      status: 'completed',
      cost: { total: '0.000050000000' },
      attempts: [{ status: 'failed' }, { provider: 'Backup', status: 'succeeded' }],
    });
    const [settled] = await fixture.database.sql`
      select hold::text from generations where model = 'held-first' and status = 'completed'`;
    expect({ ...settled }).toEqual({ hold });
  });

  test('500 provider_attempt_create_failed when it cannot be held again: the next attempt is not made', async () => {
    const sent = chat('[[fail-first 503]] unheld-canary', { model: 'held-first' });
    await held.holds(1);
    await loseHold();
    await fixture.database.sql`update accounts set suspended_at = now()`;
    held.release();
    const response = await sent;
    await fixture.database.sql`update accounts set suspended_at = null`;
    expect(await codeOf(response)).toEqual([500, 'provider_attempt_create_failed']);
    expect(await look(response)).toMatchObject({ status: 'failed', cost: null });
    expect(
      fixture.sandbox.entries.filter((entry) => JSON.stringify(entry.body).includes('unheld-canary')),
    ).toHaveLength(1);
  });
});

test('500 configuration_error for a model that is mapped to no provider: it is not listed either', async () => {
  const response = await chat('hi', { model: 'unmapped' });
  expect(await codeOf(response)).toEqual([500, 'configuration_error']);
  const list = await fetch(`${fixture.gateway.origin}/v1/models`, {
    headers: { authorization: `Bearer ${key}` },
  });
  expect(await list.text()).not.toContain('unmapped');
  expect(response.headers.get('x-should-retry')).toBe('false');
});

test('a Generation that another node gave up too early is charged, once, and gets its real outcome', async () => {
  const response = await chat('[[usage 10 20]] [[long 60]]', { model: 'held-fallback', stream: true });
  await held.holds(1);
  const other = await startQuickGateway({ ...fixture.environment, TOLLGATE_DATA: temporaryFolder() });
  await fixture.database.sql`update nodes set stopped_at = now()`;
  const id = idOf(response);
  const lookNow = async () => (await finishedGeneration(fixture.gateway.origin, key, id)).error?.code;
  // A node gives others up only after one lease without trouble of its own.
  expect(await lookNow()).toBe('gateway_interrupted');
  held.release();
  expect(await inBandCode(response)).toEqual({ code: undefined, isDone: true });
  await fixture.database.sql`update nodes set stopped_at = null`;
  await other.stop();
  expect(await look(response)).toMatchObject({
    status: 'completed',
    cost: { total: '0.000050000000' },
    error: null,
    attempts: [{ status: 'failed' }, { status: 'succeeded', error: null }],
  });
}, 60_000);

describe('a settlement that the database refuses for good', () => {
  const refuse = () =>
    fixture.database
      .sql`alter table usage_records add constraint refused check (input_tokens <> 4711) not valid`;
  const mend = () => fixture.database.sql`alter table usage_records drop constraint refused`;

  async function heldAndSetAside(response: Response): Promise<{ held: string; code: string | null }> {
    const [row] = await fixture.database.sql<[{ held: string; code: string | null }]>`
      select held, (select refusal_code from dead_letters where replace(generation_id::text, '-', '') = ${idOf(response).slice(4)}) as code
      from accounts join api_keys on api_keys.account_id = accounts.id where api_keys.hash = ${hashKey(key)}`;
    return { ...row };
  }

  const prompt = `[[usage 4711 20]] ${'x'.repeat(5_000)}`;

  test('ends a stream with billing_consistency_error, releases the hold, and is charged when it is tried again', async () => {
    await refuse();
    const response = await chat(prompt, { stream: true });
    expect(await inBandCode(response)).toEqual({ code: 'billing_consistency_error', isDone: true });
    expect(await heldAndSetAside(response)).toEqual({ held: '0.000000000000', code: '23514' });
    expect(await look(response)).toMatchObject({
      status: 'failed',
      error: { code: 'billing_consistency_error' },
    });
    const list = await fetch(`${fixture.gateway.origin}/v1/generations`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(list.status).toBe(200);
    await mend();
  }, 60_000);

  test('withholds a whole answer, which is never charged', async () => {
    await refuse();
    const response = await chat(prompt);
    expect(await codeOf(response)).toEqual([500, 'billing_consistency_error']);
    expect(await heldAndSetAside(response)).toEqual({ held: '0.000000000000', code: '23514' });
    await mend();
  }, 60_000);
});
