import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { encodeCursor } from '../../src/generations/cursor.ts';
import { deriveKeys } from '../../src/lib/derived-keys.ts';
import { newId } from '../../src/lib/ids.ts';
import {
  type ChatFixture,
  chatCatalog,
  type ErrorBody,
  finishedGeneration,
  type GenerationBody,
  openChatFixture,
} from '../support/chat-fixture.ts';
import { runCommand } from '../support/commands.ts';
import { startHeldProvider } from '../support/held-provider.ts';
import { asHolderOf, openLeavingClient } from '../support/leaving-client.ts';

type Customer = { account: string; key: string; keyId: string };
type Summary = Pick<GenerationBody, 'id' | 'status' | 'usage' | 'cost' | 'provider' | 'fallback'> & {
  model: string;
};
type ListBody = { object: string; data: Summary[]; has_more: boolean; next_cursor: string | null };

/** Answers marked requests only when allowed to. */
const held = startHeldProvider('(held)');

let fixture: ChatFixture;
/** Has one Generation of each kind, the oldest first in `made`. */
let owner: Customer;
let made: string[];

beforeAll(async () => {
  fixture = await openChatFixture((url) => chatCatalog(held.behind(url)));
  owner = await fixture.customer('10');
  made = [];
  for (const [model, content] of [
    ['full', '[[usage 10 5]] hi'],
    ['full', '[[status 503]]'],
    ['fallback', '[[usage 3 4]] hi'],
    ['plain', 'hi'],
    ['plain', '[[status 503]]'],
  ] as const)
    made.push(idOf(await chat(owner.key, model, content)));
  made.push(await cancelled());
});

afterAll(async () => {
  await fixture.close();
  await held.stop();
});

function chat(key: string, model: string, content: string): Promise<Response> {
  return fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      messages: [{ role: 'user', content }],
      ...(content.includes('[[long') ? { stream: true } : {}),
    }),
  });
}

async function cancelled(): Promise<string> {
  const client = openLeavingClient(fixture.gateway.origin, '/v1/chat/completions', asHolderOf(owner.key), {
    model: 'full',
    messages: [{ role: 'user', content: '(held) [[long 20]] [[chunk-delay 10]]' }],
    stream: true,
  });
  const id = await client.requestId();
  await held.holds(1);
  await client.leave();
  held.release();
  expect((await finishedGeneration(fixture.gateway.origin, owner.key, id)).status).toBe('cancelled');
  return id;
}

const idOf = (response: Response) => response.headers.get('x-service-request-id') ?? '';

function ask(query: Record<string, string | number> | string = '', key = owner.key): Promise<Response> {
  const text =
    typeof query === 'string'
      ? query
      : Object.entries(query)
          .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
          .join('&');
  return fetch(`${fixture.gateway.origin}/v1/generations${text === '' ? '' : `?${text}`}`, {
    headers: { authorization: `Bearer ${key}` },
  });
}

async function list(query: Record<string, string | number> = {}, key = owner.key): Promise<ListBody> {
  const response = await ask(query, key);
  expect(response.status).toBe(200);
  return (await response.json()) as ListBody;
}

async function listIds(query: Record<string, string | number> = {}, key = owner.key): Promise<string[]> {
  return (await list(query, key)).data.map(({ id }) => id);
}

async function nextCursor(query: Record<string, string | number> = {}): Promise<string> {
  const { has_more: hasMore, next_cursor: cursor } = await list({ limit: 1, ...query });
  expect(hasMore).toBe(true);
  return cursor ?? '';
}

async function expectError(response: Response, status: number, code: string, param?: string): Promise<void> {
  const { error } = (await response.json()) as ErrorBody;
  expect([response.status, error.code, error.param]).toEqual([status, code, param]);
}

describe('200', () => {
  test('newest first, in the envelope of a list, each with the fields of a summary', async () => {
    const body = await list();
    expect(Object.keys(body)).toEqual(['object', 'data', 'has_more', 'next_cursor']);
    expect(body).toMatchObject({ object: 'list', has_more: false, next_cursor: null });
    expect(body.data.map(({ id }) => id)).toEqual(made.toReversed());
    for (const summary of body.data) {
      expect(Object.keys(summary)).toEqual([
        'id',
        'object',
        'created_at',
        'status',
        'workload',
        'model',
        'provider',
        'latency_ms',
        'usage',
        'cost',
        'fallback',
        'completed_at',
      ]);
    }
  });

  test('has the same values as each lookup', async () => {
    const { data } = await list();
    expect(data.map(({ status }) => status)).toEqual([
      'cancelled',
      'failed',
      'completed',
      'completed',
      'failed',
      'completed',
    ]);
    expect(data.map(({ fallback }) => fallback)).toEqual([false, false, false, true, false, false]);
    expect(data[3]).toMatchObject({ model: 'fallback', provider: 'Backup' });
    expect(data[5]).toMatchObject({
      usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15, units: '15', unit: 'tokens' },
      cost: { input: '0.000010000000', output: '0.000010000000', total: '0.000020000000', currency: 'USD' },
    });
    for (const summary of data) {
      expect(await finishedGeneration(fixture.gateway.origin, owner.key, summary.id)).toMatchObject(summary);
    }
  });

  test('shows open ones among the others', async () => {
    const customer = await fixture.customer('10');
    const before = idOf(await chat(customer.key, 'full', 'hi'));
    const open = await chat(customer.key, 'full', '(held) [[long 30]]');
    const after = idOf(await chat(customer.key, 'full', 'hi'));
    const { data } = await list({}, customer.key);
    expect(data.map(({ id }) => id)).toEqual([after, idOf(open), before]);
    expect(data[1]).toMatchObject({
      status: 'in_progress',
      provider: 'Main',
      usage: null,
      cost: null,
      fallback: false,
      completed_at: null,
      latency_ms: expect.any(Number),
    });
    expect(await listIds({ status: 'in_progress' }, customer.key)).toEqual([idOf(open)]);
    expect(await listIds({ status: 'in_progress', model: 'full' }, customer.key)).toEqual([idOf(open)]);
    expect(await listIds({ status: 'in_progress', model: 'plain' }, customer.key)).toEqual([]);
    expect(await listIds({ model: 'full' }, customer.key)).toEqual([after, idOf(open), before]);
    expect(await listIds({ status: 'completed' }, customer.key)).toEqual([after, before]);
    held.release();
    await open.text();
    expect(await listIds({ status: 'in_progress' }, customer.key)).toEqual([]);
  });

  test.each([1, 2, 3, 4, 5, 6, 7, 100])('pages of %d lead through all of them, once each', async (limit) => {
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: ListBody = await list(cursor === null ? { limit } : { limit, cursor });
      expect(page.data.length).toBe(Math.min(limit, made.length - seen.length));
      expect(page.has_more).toBe(page.next_cursor !== null);
      seen.push(...page.data.map(({ id }) => id));
      cursor = page.next_cursor;
    } while (cursor !== null);
    expect(seen).toEqual(made.toReversed());
  });

  test('20 at a time by default', async () => {
    const customer = await fixture.customer('10');
    const ids = await Promise.all(
      Array.from({ length: 21 }, async () => idOf(await chat(customer.key, 'full', 'hi'))),
    );
    const newestFirst = ids.toSorted().toReversed();
    const page = await list({}, customer.key);
    expect(page.data.map(({ id }) => id)).toEqual(newestFirst.slice(0, 20));
    // The cursor stays valid while more arrive.
    await chat(customer.key, 'full', 'hi');
    expect(await listIds({ cursor: page.next_cursor ?? '' }, customer.key)).toEqual(newestFirst.slice(20));
  });

  test('a cursor works with any other limit, and any number of times', async () => {
    const cursor = await nextCursor();
    expect(await listIds({ cursor, limit: 2 })).toEqual(made.toReversed().slice(1, 3));
    expect(await listIds({ cursor })).toEqual(made.toReversed().slice(1));
  });

  test('filters by status, by model and by both, across pages', async () => {
    const places = (...indexes: number[]) => indexes.map((index) => made[index] ?? '');
    expect(await listIds({ status: 'completed' })).toEqual(places(3, 2, 0));
    expect(await listIds({ status: 'failed' })).toEqual(places(4, 1));
    expect(await listIds({ status: 'cancelled' })).toEqual(places(5));
    expect(await listIds({ status: 'in_progress' })).toEqual([]);
    expect(await listIds({ model: 'full' })).toEqual(places(5, 1, 0));
    expect(await listIds({ model: 'plain', status: 'failed' })).toEqual(places(4));
    expect(await listIds({ model: 'plain', status: 'cancelled' })).toEqual([]);
    const filter = { model: 'full', limit: 1 };
    const cursor = await nextCursor(filter);
    const second = await list({ ...filter, cursor });
    expect(second.data.map(({ id }) => id)).toEqual(places(1));
    expect(await listIds({ ...filter, cursor: second.next_cursor ?? '' })).toEqual(places(0));
  });

  test.each(['FULL', 'ful', 'full ', '%', "'", '"', '\\', 'модель', '__proto__', 'x'.repeat(5_000)])(
    'a model is matched exactly, and an unknown one gives an empty list: %p',
    async (model) => {
      expect(await list({ model })).toEqual({ object: 'list', data: [], has_more: false, next_cursor: null });
    },
  );

  test('lists nothing of any other key, not even of the same account', async () => {
    const sibling = await runCommand<{ key: string }>(
      ['key', 'create', '--account', owner.account],
      fixture.environment,
    );
    const stranger = await fixture.customer('1');
    expect(await listIds({}, sibling.key)).toEqual([]);
    expect(await listIds({}, stranger.key)).toEqual([]);
    const own = idOf(await chat(sibling.key, 'full', 'hi'));
    expect(await listIds({}, sibling.key)).toEqual([own]);
    expect(await listIds()).toEqual(made.toReversed());
  });

  test('reveals nothing of the conversation', async () => {
    const customer = await fixture.customer('1');
    await chat(customer.key, 'full', '[[say completion-canary]] prompt-canary');
    const text = await (await ask('', customer.key)).text();
    expect(text).toContain('"completed"');
    expect(text).not.toContain('canary');
    expect(text).not.toContain('127.0.0.1');
  });
});

describe('400', () => {
  test.each([
    '0',
    '-1',
    '101',
    '1000',
    '1.5',
    '1.0',
    '1e1',
    '0x10',
    '020',
    '',
    ' ',
    '5 ',
    '+5',
    'x',
    '٣',
    '5,6',
  ])('invalid_parameter for limit=%p', async (limit) => {
    await expectError(await ask({ limit }), 400, 'invalid_parameter', 'limit');
  });

  test.each(['', 'done', 'COMPLETED', 'completed ', 'in_progress,failed', 'toString'])(
    'invalid_parameter for status=%p',
    async (status) => {
      await expectError(await ask({ status }), 400, 'invalid_parameter', 'status');
    },
  );

  test.each(['', '\0', 'full\0'])('invalid_parameter for model=%p', async (model) => {
    await expectError(await ask({ model }), 400, 'invalid_parameter', 'model');
  });

  test('what is not supported or repeated is refused by name', async () => {
    await expectError(await ask('provider=Main'), 400, 'unsupported_parameter', 'provider');
    await expectError(await ask('before=x&limit=5'), 400, 'unsupported_parameter', 'before');
    await expectError(await ask('limit=5&limit=6'), 400, 'invalid_parameter', 'limit');
  });

  test.each(['', 'x', 'req_0', 'null', '0'.repeat(76), 'A'.repeat(75), '%00', '🙂', '='.repeat(76)])(
    'invalid_cursor for %p',
    async (cursor) => {
      await expectError(await ask({ cursor }), 400, 'invalid_cursor', 'cursor');
    },
  );

  test('invalid_cursor for an altered one', async () => {
    const cursor = await nextCursor();
    const other = cursor.startsWith('B') ? 'C' : 'B';
    await expectError(await ask({ cursor: other + cursor.slice(1) }), 400, 'invalid_cursor', 'cursor');
    await expectError(await ask({ cursor: `${cursor}=` }), 400, 'invalid_cursor', 'cursor');
  });

  test('invalid_cursor with other filters than it was made for', async () => {
    const plain = await nextCursor();
    const filtered = await nextCursor({ status: 'completed' });
    for (const query of [
      { cursor: plain, status: 'completed' },
      { cursor: plain, model: 'full' },
      { cursor: filtered },
      { cursor: filtered, status: 'failed' },
      { cursor: filtered, status: 'completed', model: 'full' },
      { cursor: filtered, model: 'completed' },
    ])
      await expectError(await ask(query), 400, 'invalid_cursor', 'cursor');
    expect((await ask({ cursor: filtered, status: 'completed' })).status).toBe(200);
  });

  test('invalid_cursor for another key, even of the same account', async () => {
    const cursor = await nextCursor();
    const sibling = await runCommand<{ key: string }>(
      ['key', 'create', '--account', owner.account],
      fixture.environment,
    );
    await expectError(await ask({ cursor }, sibling.key), 400, 'invalid_cursor', 'cursor');
  });

  test('invalid_cursor for one that has expired or that another secret signed', async () => {
    const [{ secret }] = await fixture.database.sql<[{ secret: string }]>`select secret from gateway_secret`;
    const dayMs = 24 * 60 * 60 * 1000;
    const cursorOf = (by: string, atMs: number) =>
      encodeCursor(newId(), [owner.keyId, null, null], deriveKeys(by)('cursor'), atMs);
    expect((await ask({ cursor: cursorOf(secret, Date.now() - dayMs + 60_000) })).status).toBe(200);
    for (const cursor of [cursorOf(secret, Date.now() - dayMs), cursorOf('another', Date.now())])
      await expectError(await ask({ cursor }), 400, 'invalid_cursor', 'cursor');
  });
});

describe('401 and 404', () => {
  test('without a valid key nothing is read', async () => {
    await expectError(await ask('limit=0', 'nothing'), 401, 'invalid_api_key');
    await expectError(await fetch(`${fixture.gateway.origin}/v1/generations`), 401, 'invalid_api_key');
  });

  test('a list cannot be written to', async () => {
    const response = await fetch(`${fixture.gateway.origin}/v1/generations`, { method: 'POST' });
    await expectError(response, 404, 'not_found');
  });
});

describe('500 generation_lookup_failed', () => {
  test.each(['finished_generations', 'unfinished_generations'])('when %s is away', async (view) => {
    const { sql } = fixture.database;
    expect((await ask()).status).toBe(200);
    await sql.unsafe(`alter view ${view} rename to view_away`);
    const response = await ask();
    await sql.unsafe(`alter view view_away rename to ${view}`);
    await expectError(response, 500, 'generation_lookup_failed');
    expect((await ask()).status).toBe(200);
  });

  test('when the key cannot be looked up, for the list and for one', async () => {
    const fresh = await fixture.customer('1');
    const { sql } = fixture.database;
    await sql`alter table api_keys rename to api_keys_away`;
    const listed = await ask('', fresh.key);
    const one = await fetch(`${fixture.gateway.origin}/v1/generations/${made[0]}`, {
      headers: { authorization: `Bearer ${fresh.key}` },
    });
    await sql`alter table api_keys_away rename to api_keys`;
    await expectError(listed, 500, 'generation_lookup_failed');
    await expectError(one, 500, 'generation_lookup_failed');
  });
});
