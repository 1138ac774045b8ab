import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { newId, requestIdFromUuid } from '../../src/lib/ids.ts';
import {
  type ChatFixture,
  chatCatalog,
  type GenerationBody,
  openChatFixture,
} from '../support/chat-fixture.ts';
import { runCommand } from '../support/commands.ts';
import { eventually } from '../support/eventually.ts';
import { startHeldProvider } from '../support/held-provider.ts';
import { settleAs } from '../support/rare-settlements.ts';

/** Answers marked requests only when allowed to. */
const held = startHeldProvider('(held)');

let fixture: ChatFixture;
let owner: { account: string; key: string; keyId: string };

beforeAll(async () => {
  fixture = await openChatFixture((url) => chatCatalog(held.behind(url)));
  owner = await fixture.customer('10');
});

afterAll(async () => {
  await fixture.close();
  await held.stop();
});

function chat(content: string, more: object = {}): Promise<Response> {
  return fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${owner.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'full', messages: [{ role: 'user', content }], ...more }),
  });
}

const lookUp = (id: string, key = owner.key) =>
  fetch(`${fixture.gateway.origin}/v1/generations/${id}`, { headers: { authorization: `Bearer ${key}` } });
const idOf = (response: Response) => response.headers.get('x-service-request-id') ?? '';
const isoPattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe('200', () => {
  test('has every field of the contract and its own request ID', async () => {
    const made = await chat('[[usage 10 50]] [[chunk-delay 20]] Tell me a little more about it please', {
      stream: true,
    });
    await made.text();
    const response = await lookUp(idOf(made));
    expect(response.status).toBe(200);
    expect(idOf(response)).not.toBe(idOf(made));
    const body = (await response.json()) as GenerationBody & Record<string, unknown>;
    expect(Object.keys(body).sort()).toEqual(
      [
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
        'streaming',
        'time_to_first_token_ms',
        'tokens_per_second',
        'routing',
        'attempts',
        'error',
      ].sort(),
    );
    expect(body).toMatchObject({
      id: idOf(made),
      object: 'generation',
      status: 'completed',
      workload: 'chat',
      model: 'full',
      provider: 'Main',
      streaming: true,
      error: null,
      fallback: false,
    });
    expect(body.created_at).toMatch(isoPattern);
    expect(body.completed_at).toMatch(isoPattern);
    expect(Number.isInteger(body.latency_ms)).toBe(true);
    expect(body.time_to_first_token_ms).toBeWithin(0, body.latency_ms + 1);
    const decodingSeconds = (body.latency_ms - (body.time_to_first_token_ms ?? 0)) / 1000;
    expect(body.tokens_per_second ?? 0).toBeCloseTo(50 / decodingSeconds, 1);
    const [attempt] = body.attempts;
    expect(Object.keys(attempt ?? {})).toEqual([
      'index',
      'provider',
      'status',
      'started_at',
      'completed_at',
      'latency_ms',
      'upstream_status',
      'error',
    ]);
    expect(attempt?.started_at).toMatch(isoPattern);
    expect(attempt?.completed_at).toMatch(isoPattern);
  });

  test('shows a Generation while it is in progress', async () => {
    const made = await chat('(held) [[long 30]]', { stream: true });
    expect(await (await lookUp(idOf(made))).json()).toMatchObject({
      status: 'in_progress',
      usage: null,
      cost: null,
      completed_at: null,
      routing: { selected_provider: 'Main', attempt_count: 1 },
      attempts: [{ index: 1, provider: 'Main', status: 'in_progress', completed_at: null, latency_ms: null }],
      error: null,
    });
    held.release();
    await made.text();
    expect(((await (await lookUp(idOf(made))).json()) as GenerationBody).status).toBe('completed');
  });

  test('a failed Generation is still found, its error is metadata', async () => {
    const made = await chat('[[status 503]]');
    const response = await lookUp(idOf(made));
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      status: 'failed',
      usage: null,
      cost: null,
      error: { type: 'provider_error', code: 'provider_unavailable', message: expect.any(String) },
    });
  });

  test('reveals nothing of the conversation', async () => {
    const made = await chat('[[say completion-canary]] prompt-canary');
    const text = await (await lookUp(idOf(made))).text();
    expect(text).not.toContain('canary');
    expect(text).not.toContain('127.0.0.1');
  });

  test('what came from a cache is part of the input, and named only where there was some', async () => {
    const made = await chat('[[usage 1000 5]] [[cached 900]]');
    const { usage, cost } = (await (await lookUp(idOf(made))).json()) as GenerationBody;
    expect(usage).toEqual({
      input_tokens: 1000,
      output_tokens: 5,
      total_tokens: 1005,
      units: '1005',
      unit: 'tokens',
      cache_read_tokens: 900,
    });
    expect(cost).toMatchObject({ input: '0.001000000000', total: '0.001010000000' });
    const listed = await fetch(`${fixture.gateway.origin}/v1/generations?limit=1`, {
      headers: { authorization: `Bearer ${owner.key}` },
    });
    expect(await listed.json()).toMatchObject({ data: [{ id: idOf(made), usage, cost }] });
    const settled = await settleAs(
      fixture.database,
      { accountId: owner.account, keyId: owner.keyId },
      {
        usage: {
          inputTokens: 10,
          outputTokens: 5,
          cached: { read: 0, write: 3, writeLong: 4 },
          units: 15,
          unit: 'tokens',
          tier: null,
        },
        cost: { input: 7n, output: 1n, total: 8n, cached: { read: 0n, write: 3n, writeLong: 4n, saved: 0n } },
      },
    );
    const written = (await (await lookUp(settled)).json()) as GenerationBody;
    expect(written.usage).toMatchObject({ input_tokens: 10, cache_write_tokens: 7 });
    expect(written.usage).not.toHaveProperty('cache_read_tokens');
    const plain = (await (await lookUp(idOf(await chat('hi')))).json()) as GenerationBody;
    expect(Object.keys(plain.usage ?? {})).toEqual([
      'input_tokens',
      'output_tokens',
      'total_tokens',
      'units',
      'unit',
    ]);
  });

  test('keeps its cost when prices change', async () => {
    const made = await chat('[[usage 100 100]]');
    const before = (await (await lookUp(idOf(made))).json()) as GenerationBody;
    const file = fixture.environment.TOLLGATE_CATALOG ?? '';
    const catalog = await Bun.file(file).text();
    await Bun.write(file, catalog.replaceAll('input: "1"', 'input: "9"').replace('"2026-11"', '"2026-12"'));
    await eventually('the new prices', () => fixture.gateway.output().includes('"priceVersion":"2026-12"'));
    expect(((await (await lookUp(idOf(made))).json()) as GenerationBody).cost).toEqual(before.cost);
    const dearer = await chat('[[usage 100 100]]');
    expect(((await (await lookUp(idOf(dearer))).json()) as GenerationBody).cost?.input).toBe(
      '0.000900000000',
    );
    await Bun.write(file, catalog);
  });
});

describe('404', () => {
  test('unknown, malformed and foreign IDs answer the same bytes, another key of the account included', async () => {
    const made = idOf(await chat('hi'));
    const sibling = await runCommand<{ key: string }>(
      ['key', 'create', '--account', owner.account],
      fixture.environment,
    );
    const stranger = await fixture.customer('1');
    const answers = await Promise.all([
      lookUp(requestIdFromUuid(newId())),
      lookUp('req_nonsense'),
      lookUp(made.replace('req_', '')),
      lookUp(made, sibling.key),
      lookUp(made, stranger.key),
    ]);
    const bodies = await Promise.all(answers.map((answer) => answer.text()));
    expect(answers.map((answer) => answer.status)).toEqual([404, 404, 404, 404, 404]);
    expect(new Set(bodies).size).toBe(1);
    expect(JSON.parse(bodies[0] ?? '')).toMatchObject({
      error: { code: 'generation_not_found', type: 'invalid_request_error' },
    });
  });
});

describe('other responses', () => {
  test('400 for a query parameter, 401 without a key, 404 for the wrong method', async () => {
    const id = requestIdFromUuid(newId());
    expect((await lookUp(`${id}?x=1`)).status).toBe(400);
    expect((await lookUp(id, 'nothing')).status).toBe(401);
    expect((await fetch(`${fixture.gateway.origin}/v1/generations/${id}`, { method: 'DELETE' })).status).toBe(
      404,
    );
  });

  test('500 generation_lookup_failed when it cannot be read', async () => {
    await fixture.database.sql`alter view generation_details rename to details_away`;
    const response = await lookUp(requestIdFromUuid(newId()));
    await fixture.database.sql`alter view details_away rename to generation_details`;
    expect([response.status, await response.json()]).toMatchObject([
      500,
      { error: { code: 'generation_lookup_failed' } },
    ]);
  });
});
