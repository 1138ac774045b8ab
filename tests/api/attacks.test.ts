/**
 * What a hostile customer or a broken provider could once get out of the gateway: work that nobody pays for, or a charge
 * that nobody agreed to.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { parseMoney } from '../../src/lib/money.ts';
import {
  type ChatFixture,
  type ErrorBody,
  eventsOf,
  finishedGeneration,
  openChatFixture,
} from '../support/chat-fixture.ts';
import { runCommand } from '../support/commands.ts';
import { eventually } from '../support/eventually.ts';
import { startHeldProvider } from '../support/held-provider.ts';

const able = 'capabilities: [text_input, text_output, streaming, function_calling]';
const dear = 'pricing: { billing_type: token, input: "15", output: "75" }';
const patient = 'circuit: { failures: 1000 }';

const held = startHeldProvider();

/** Sends the events that a test has put here, as a stream in OpenAI's format; a string is sent as it is. */
let script: readonly unknown[] = [];
const scripted = Bun.serve({
  port: 0,
  fetch: () =>
    new Response(
      [...script.map((event) => (typeof event === 'string' ? event : JSON.stringify(event))), '[DONE]']
        .map((data) => `data: ${data}\n\n`)
        .join(''),
      {
        headers: { 'content-type': 'text/event-stream' },
      },
    ),
});

const catalog = (url: string) => `
price_version: "2026-11"
providers:
  main:     { name: Main, adapter: openai, base_url: ${url}/v1, api_key_env: MAIN_KEY, ${patient} }
  google:   { name: Google, adapter: google, base_url: ${url}/v1beta, api_key_env: MAIN_KEY, ${patient} }
  brief:    { name: Brief, adapter: openai, base_url: ${url}/v1, api_key_env: MAIN_KEY, ${patient}, timeouts: { total_ms: 3000 } }
  held:     { name: Held, adapter: openai, base_url: ${held.behind(url)}/v1, api_key_env: MAIN_KEY, ${patient} }
  scripted: { name: Scripted, adapter: openai, base_url: ${scripted.url.origin}/v1, ${patient} }
  absent:   { name: Absent, adapter: openai, base_url: ${url}/v1, api_key_env: NO_KEY }
models:
  dear:     { workload: chat, max_output_tokens: 128000, context_window: 200000, ${able}, ${dear}, providers: [main] }
  gemini:   { workload: chat, max_output_tokens: 1000, ${able}, ${dear}, providers: [google] }
  brief:    { workload: chat, max_output_tokens: 1000, ${able}, ${dear}, providers: [brief] }
  held:     { workload: chat, max_output_tokens: 1000, ${able}, ${dear}, providers: [held] }
  scripted: { workload: chat, max_output_tokens: 1000, ${able}, ${dear}, providers: [scripted] }
  absent:   { workload: chat, max_output_tokens: 1000, ${able}, ${dear}, providers: [absent] }
`;

let fixture: ChatFixture;

beforeAll(async () => {
  fixture = await openChatFixture(catalog);
});

afterAll(async () => {
  await fixture.close();
  await scripted.stop(true);
  await held.stop();
});

function ask(
  key: string,
  content: string,
  more: object = {},
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'dear', messages: [{ role: 'user', content }], ...more }),
  });
}

const idOf = (response: Response) => response.headers.get('x-service-request-id') ?? '';
const money = (text: string) => parseMoney(text) ?? 0n;

async function balanceOf(account: string): Promise<bigint> {
  const [row] = await fixture.database.sql<
    [{ balance: string }]
  >`select balance from accounts where id = ${account}`;
  return money(row.balance);
}

/** What all calls with this text were worth, by the provider's own log. */
function deliveredFor(text: string): bigint {
  let worth = 0n;
  for (const { body, usage } of fixture.sandbox.entries) {
    if (usage === null || !JSON.stringify(body).includes(text)) continue;
    const { prompt_tokens: input, completion_tokens: output } = usage as Record<string, number>;
    worth += BigInt(input ?? 0) * 15_000_000n + BigInt(output ?? 0) * 75_000_000n;
  }
  return worth;
}

async function codeIn(response: Response): Promise<string | null> {
  const events = eventsOf(await response.text());
  expect(events.at(-1)).toBe('[DONE]');
  const failed = events.find((event) => event.startsWith('{"error"'));
  return failed === undefined ? null : (JSON.parse(failed) as ErrorBody).error.code;
}

async function writeOffOf(response: Response) {
  const [row] = await fixture.database.sql`
    select reason, amount, reported_input_tokens, reported_output_tokens from write_offs
    where replace(generation_id::text, '-', '') = ${idOf(response).slice(4)}`;
  return row === undefined ? null : { ...row };
}

async function isEstimated(response: Response): Promise<boolean> {
  const [row] = await fixture.database.sql`
    select is_estimated from ledger_entries where replace(generation_id::text, '-', '') = ${idOf(response).slice(4)}`;
  return row.is_estimated;
}

describe('a small balance and endless answers', () => {
  test('12 streams at once deliver no more than is charged for', async () => {
    const { key, account } = await fixture.customer('1.24');
    const before = await balanceOf(account);
    const text = '[[long 128000]] [[burst]] twelve-at-once';
    const responses = await Promise.all(Array.from({ length: 12 }, () => ask(key, text, { stream: true })));
    const codes = await Promise.all(
      responses.map(async (response) =>
        response.status === 200 ? await codeIn(response) : ((await response.json()) as ErrorBody).error.code,
      ),
    );
    const charged = before - (await balanceOf(account));
    expect(charged).toBe(deliveredFor('twelve-at-once'));
    expect(charged).toBeGreaterThan(0n);
    // Some run concurrently; those that cannot even afford a short answer are told so before any work is done.
    expect(new Set(codes)).toEqual(new Set([null, 'insufficient_balance']));
    expect(codes.filter((code) => code === null).length).toBeGreaterThan(1);
  }, 60_000);

  test('the monthly limit of a key is not exceeded', async () => {
    const { key, account } = await fixture.customer('100', '--monthly-limit', '0.2');
    const before = await balanceOf(account);
    const statuses: number[] = [];
    for (let round = 0; round < 12; round += 1) {
      const response = await ask(key, '[[long 128000]] [[burst]] month', { stream: true });
      statuses.push(response.status);
      await response.text();
    }
    const charged = before - (await balanceOf(account));
    expect(charged).toBeLessThanOrEqual(money('0.2'));
    expect(charged).toBe(deliveredFor('month'));
    expect(new Set(statuses)).toEqual(new Set([200, 403]));
  }, 60_000);

  test('is refused before the provider works, or gets a shorter answer, but never works for nothing', async () => {
    const { key, account } = await fixture.customer('0.31');
    const before = await balanceOf(account);
    const reasons: (string | number)[] = [];
    for (let round = 0; round < 6; round += 1) {
      const response = await ask(key, '[[long 128000]] whole-answer');
      const body = (await response.json()) as { choices?: { finish_reason: string }[] };
      reasons.push(body.choices?.[0]?.finish_reason ?? response.status);
    }
    expect(new Set(reasons)).toEqual(new Set(['length', 402]));
    expect(before - (await balanceOf(account))).toBe(deliveredFor('whole-answer'));
  }, 60_000);

  test('says what is needed, what is there and what would fit, and what fits is served', async () => {
    const { key } = await fixture.customer('0.25');
    const response = await ask(key, 'hello', { max_tokens: 100_000 });
    expect(response.status).toBe(402);
    const { message } = ((await response.json()) as ErrorBody).error;
    expect(message).toMatch(
      /^This request may cost up to \$7\.\d{4}; \$0\.2500 is available\. Set max_tokens to ([\d,]+) or less\.$/,
    );
    const fits = Number(/max_tokens to ([\d,]+)/.exec(message)?.[1]?.replaceAll(',', ''));
    expect((await ask(key, 'hello', { max_tokens: fits + 1 })).status).toBe(402);
    expect((await ask(key, 'hello', { max_tokens: fits })).status).toBe(200);
  });

  test('a non-streamed answer without max_tokens may be as long as the model allows if there is money for it', async () => {
    const { key } = await fixture.customer('1000');
    await ask(key, 'full-length');
    const entry = fixture.sandbox.entries.find(({ body }) => JSON.stringify(body).includes('full-length'));
    expect(entry?.body).toMatchObject({ max_tokens: 128_000 });
  });
});

describe('impossible usage', () => {
  test('is not believed beyond what was asked for', async () => {
    const { key } = await fixture.customer('100');
    const response = await ask(key, '[[usage 10 100000000]] hi', { max_tokens: 5 });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ usage: { prompt_tokens: 10, completion_tokens: 5 } });
    const generation = await finishedGeneration(fixture.gateway.origin, key, idOf(response));
    expect(generation).toMatchObject({
      status: 'completed',
      usage: { output_tokens: 5 },
      cost: { total: '0.000525000000' },
    });
    expect(await writeOffOf(response)).toEqual({
      reason: 'implausible_usage',
      amount: '7499.999625000000',
      reported_input_tokens: 10n,
      reported_output_tokens: 100_000_000n,
    });
    await eventually('the line in the log', () =>
      fixture.gateway.output().includes('implausible usage reported'),
    );
  });

  test('does not take the whole balance through a stream', async () => {
    const { key, account } = await fixture.customer('100');
    const response = await ask(key, '[[usage 10 3000000000]] hi', {
      stream: true,
      max_tokens: 5,
      stream_options: { include_usage: true },
    });
    const events = eventsOf(await response.text());
    expect(JSON.parse(events.at(-2) ?? '')).toMatchObject({ usage: { completion_tokens: 5 } });
    expect(await balanceOf(account)).toBe(money('100') - money('0.000525'));
  });

  test('of nothing for what was delivered is charged as nothing, and shown to the operator', async () => {
    const { key, account } = await fixture.customer('1');
    const response = await ask(key, '[[usage 10 0]] hi');
    expect(response.status).toBe(200);
    expect(await balanceOf(account)).toBe(money('1') - money('0.00015'));
    expect(await writeOffOf(response)).toMatchObject({
      reason: 'implausible_usage',
      reported_output_tokens: 0n,
    });
  });
});

describe('what was delivered before it went wrong is paid for', () => {
  const usage = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };
  const delta = (fields: object, finish_reason: string | null = null) => ({
    choices: [{ index: 0, delta: fields, finish_reason }],
  });
  const call = (index: number, written: unknown) =>
    delta({ tool_calls: [{ index, id: `call_${index}`, function: { name: 'f', arguments: written } }] });
  const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) });

  test.each([
    [
      'more calls of tools than are passed on',
      Array.from({ length: 1_001 }, (_, index) => call(index, '{}')),
    ],
    ['arguments nested too deep', [delta({ content: 'So' }), call(0, nested(65))]],
    ['an event that is too long', [delta({ content: 'So' }), delta({ content: 'x'.repeat(2_000_000) })]],
    [
      'arguments nested too deep, as a text that comes in pieces',
      [call(0, '{"a":'), ...Array.from({ length: 5_000 }, () => call(0, '[['))],
    ],
    ['an event that is no JSON', [delta({ content: 'So' }), '{oops']],
    ['an event that is no object', [delta({ content: 'So' }), '7']],
    ['a call of a tool that is none', [delta({ content: 'So' }), delta({ tool_calls: ['f'] })]],
    ['a call of a tool with an impossible index', [delta({ content: 'So' }), call(-1, '{}')]],
    ['an error, after which the provider goes on', [delta({ content: 'So' }), { error: { message: 'x' } }]],
    ['a provider that says it failed', [delta({ content: 'So' }), delta({}, 'error')]],
  ])('%s', async (_what, events) => {
    const { key, account } = await fixture.customer('1');
    script = [...events, { ...delta({}, 'stop'), usage }];
    const tools = [{ type: 'function', function: { name: 'f' } }];
    const response = await ask(key, 'hi', { model: 'scripted', stream: true, tools });
    expect(await codeIn(response)).toMatch(/^(malformed_stream_chunk|provider_stream_error)$/);
    const generation = await finishedGeneration(fixture.gateway.origin, key, idOf(response));
    expect(generation).toMatchObject({ status: 'failed', cost: { total: '0.001650000000' } });
    expect(await balanceOf(account)).toBe(money('1') - money('0.00165'));
  });

  test.each([
    ['an event that is no JSON', '{oops'],
    ['an error', { error: { message: 'x' } }],
  ])('counts that grow, with %s before the last ones', async (_what, event) => {
    const { key, account } = await fixture.customer('1');
    const early = { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 };
    const last = { choices: [], usage };
    script = [
      { ...delta({ content: 'So' }), usage: early },
      delta({}, 'stop'),
      event,
      delta({ content: 'late' }),
      last,
    ];
    const response = await ask(key, 'hi', { model: 'scripted', stream: true });
    const text = await response.text();
    expect(text).toContain('So');
    expect(text).not.toContain('late');
    // The answer was complete, so nothing has failed.
    expect(await finishedGeneration(fixture.gateway.origin, key, idOf(response))).toMatchObject({
      status: 'completed',
      cost: { total: '0.001650000000' },
    });
    expect(await balanceOf(account)).toBe(money('1') - money('0.00165'));
  });

  test.each(['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL', 'TOO_MANY_TOOL_CALLS'])(
    'Gemini’s %s',
    async (reason) => {
      const { key } = await fixture.customer('1');
      const text = `[[long 30]] [[usage 10 20]] [[finish ${reason}]]`;
      const response = await ask(key, text, { model: 'gemini', stream: true });
      expect(await codeIn(response)).toBe('provider_stream_error');
      const generation = await finishedGeneration(fixture.gateway.origin, key, idOf(response));
      expect(generation).toMatchObject({ status: 'failed', cost: { total: '0.001650000000' } });
    },
  );

  test.concurrent('a call that takes longer than any may is charged by what was delivered, under-estimated', async () => {
    const { key, account } = await fixture.customer('1');
    const response = await ask(key, '[[long 900]] [[chunk-delay 20]]', { model: 'brief', stream: true });
    const text = await response.text();
    const delivered = eventsOf(text)
      .filter((event) => event.startsWith('{"id"'))
      .map((event) => JSON.parse(event).choices[0]?.delta.content ?? '')
      .join('');
    // Its words, of which a real tokenizer would have made more tokens.
    const outputTokens = delivered.match(/[\p{L}\p{N}]+/gu)?.length ?? 0;
    expect(outputTokens).toBeGreaterThan(0);
    expect(text).toContain('provider_timeout');
    const generation = await finishedGeneration(fixture.gateway.origin, key, idOf(response));
    expect(generation).toMatchObject({
      status: 'failed',
      error: { code: 'provider_timeout' },
      usage: { input_tokens: 5, output_tokens: outputTokens },
    });
    expect(await balanceOf(account)).toBe(money('1') - 5n * 15_000_000n - BigInt(outputTokens) * 75_000_000n);
    expect(await isEstimated(response)).toBe(true);
  });

  test.concurrent('an estimate is charged once for an idempotent request, whose retry gets the same response', async () => {
    const { key, account } = await fixture.customer('1');
    const send = () =>
      ask(
        key,
        '[[long 900]] [[chunk-delay 20]]',
        { model: 'brief', stream: true },
        { 'idempotency-key': 'brief' },
      );
    const first = await (await send()).text();
    expect(first).toContain('provider_timeout');
    const balance = await balanceOf(account);
    expect(balance).toBeLessThan(money('1'));
    expect(await (await send()).text()).toBe(first);
    expect(await balanceOf(account)).toBe(balance);
  });

  test('a provider that breaks off without usage is not paid for', async () => {
    const { key, account } = await fixture.customer('1');
    const response = await ask(key, '[[long 30]] [[cut 5]]', { stream: true });
    expect(await codeIn(response)).toBe('provider_stream_error');
    expect(await finishedGeneration(fixture.gateway.origin, key, idOf(response))).toMatchObject({
      status: 'failed',
      usage: null,
      cost: null,
    });
    expect(await balanceOf(account)).toBe(money('1'));
  });
});

test('a key with its maximum of requests in progress is told so, and others of its account are served', async () => {
  const { account, key, keyId } = await fixture.customer('1');
  await fixture.database.sql`update api_keys set max_concurrent = 2 where id = ${keyId}`;
  const other = await runCommand<{ key: string }>(
    ['key', 'create', '--account', account],
    fixture.environment,
  );
  const slow = () => ask(key, '[[long 20]]', { model: 'held', stream: true, max_tokens: 100 });
  const open = [await slow(), await slow()];
  await held.holds(2);
  const refused = await ask(key, 'hi', { max_tokens: 10 });
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
  expect(((await refused.json()) as ErrorBody).error).toMatchObject({
    code: 'rate_limit_exceeded',
    message: 'This API key already has 2 requests in progress, the most it may have at once.',
  });
  expect((await ask(other.key, 'hi', { max_tokens: 10 })).status).toBe(200);
  held.release();
  await Promise.all(open.map((response) => response.text()));
  await eventually('it is served again', async () => {
    const { status } = await ask(key, 'hi', { max_tokens: 10 });
    return status === 200;
  });
});

describe('a flood of refused requests', () => {
  const post = (key: string, body: string) =>
    fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body,
    });
  /** Large ones count for more, so few are enough. */
  const brackets = '['.repeat(400_000);

  /** From eight connections, until one of them is told to wait and `until` holds too. Returns all responses. */
  async function flood(send: () => Promise<Response>, until: Promise<unknown>): Promise<Set<string>> {
    const answers = new Set<string>();
    let isOver = false;
    let sent = 0;
    until.then(
      () => (isOver = true),
      () => (isOver = true),
    );
    const connection = async () => {
      while (sent < 3_000 && !(isOver && answers.has('429 rate_limit_exceeded'))) {
        sent += 1;
        const response = await send();
        const { error } = (await response.json()) as ErrorBody;
        answers.add(`${response.status} ${error.code}`);
      }
    };
    await Promise.all([...Array.from({ length: 8 }, connection), until]);
    return answers;
  }

  test('makes its key wait, with the reason, and nobody else', async () => {
    const { account, key } = await fixture.customer('1');
    const other = await fixture.customer('1');
    const same = await runCommand<{ key: string }>(
      ['key', 'create', '--account', account],
      fixture.environment,
    );
    const served = Promise.all(
      [other.key, same.key, other.key].map((one) => ask(one, 'hi', { max_tokens: 10 })),
    );
    const told = eventually('the key has to wait', async () => {
      const response = await ask(key, 'hi', { model: 'no such model' });
      return response.status === 429 ? response : null;
    });
    const answers = await flood(() => post(key, brackets), Promise.all([served, told]));
    expect(answers).toEqual(new Set(['400 invalid_parameter', '429 rate_limit_exceeded']));
    expect((await served).map(({ status }) => status)).toEqual([200, 200, 200]);
    const response = await told;
    expect(response.headers.get('retry-after')).toBe('1');
    expect(((await response.json()) as ErrorBody).error).toMatchObject({
      type: 'rate_limit_error',
      message: expect.stringMatching(
        /^Too many requests of this API key were refused within a minute, the last one with (invalid_parameter|model_not_found)\./,
      ),
    });
    await eventually('it is served again', async () => {
      const { status } = await ask(key, 'hi', { max_tokens: 10 });
      return status === 200;
    });
  });

  test.each([
    ['the rate of the key', '1', 'dear', 'rate_limit_exceeded'],
    ['a provider that is not configured', '1000', 'absent', 'provider_not_configured'],
  ])('counts also if the reason is %s', async (_what, rate, model, code) => {
    const { key } = await fixture.customer('1', '--rpm', rate);
    expect((await ask(key, 'hi', { max_tokens: 10 })).status).toBe(200);
    // So large that thirteen of them are too many.
    const content = 'x'.repeat(8_000_000);
    await eventually('the key has to wait', async () => {
      const { error } = (await (await ask(key, content, { model })).json()) as ErrorBody;
      return error.message.includes(`refused within a minute, the last one with ${code}.`);
    });
  });
});
