/**
 * Every fault of the table in every format: what the client gets, what is recorded, what is charged, and whether another
 * provider takes over. The real gateway, real sockets, a sandbox in each format behind a network that can be made bad.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createServer, type Server } from 'node:net';
import { type FaultProxy, startFaultProxy } from '../../chaos/fault-proxy.ts';
import { type Sandbox, startSandbox } from '../../sandbox/server.ts';
import { type ErrorCode, errorTable } from '../../src/errors.ts';
import { uuidFromRequestId } from '../../src/lib/ids.ts';
import {
  type ChatFixture,
  type ErrorBody,
  eventsOf,
  finishedGeneration,
  openChatFixture,
} from '../support/chat-fixture.ts';
import { type Format, formats, type Outcome, type Row, rows } from '../support/provider-faults.ts';

/** A provider of one format: its sandbox, the network before it, and a server that answers with fixed bytes. */
type Faulty = { sandbox: Sandbox; proxy: FaultProxy; fixed: FixedServer };
type FixedServer = { port: number; bytes: string; thenSilence: boolean; server: Server };

const base = { openai: '/v1', anthropic: '/v1', google: '/v1beta' } satisfies Record<Format, string>;
const faulty = new Map<Format, Faulty>();
let fixture: ChatFixture;
let key: string;

const patient = 'circuit: { failures: 1000 }';
/** For faults that only a deadline ends. With everything else a busy machine would miss it. */
const hasty = `${patient}, timeouts: { connect_ms: 300, first_byte_ms: 600, idle_ms: 800, total_ms: 4000 }`;
const price = 'pricing: { billing_type: token, input: "1", output: "2" }';

function catalog(steadyUrl: string): string {
  const provider = (name: string, format: Format, url: string, settings: string) =>
    `\n  ${name}: { adapter: ${format}, base_url: "${url}${base[format]}", api_key_env: MAIN_KEY, ${settings} }`;
  const providers = [...faulty].flatMap(([format, { proxy, fixed }]) => [
    provider(format, format, `http://127.0.0.1:${proxy.port}`, patient),
    provider(`${format}-hasty`, format, `http://127.0.0.1:${proxy.port}`, hasty),
    provider(`${format}-fixed`, format, `http://127.0.0.1:${fixed.port}`, patient),
    provider(`${format}-fixed-hasty`, format, `http://127.0.0.1:${fixed.port}`, hasty),
    provider(`${format}-steady`, format, steadyUrl, patient),
  ]);
  const models = formats.flatMap((format) =>
    ['', '-hasty', '-fixed', '-fixed-hasty']
      .map((kind) => `${format}${kind}`)
      .map(
        (provider) => `
  alone-${provider}: { workload: chat, ${price}, providers: [${provider}] }
  pair-${provider}: { workload: chat, ${price}, providers: [${provider}, ${format}-steady] }`,
      ),
  );
  return `price_version: "1"\nproviders:${providers.join('')}\nmodels:${models.join('')}\n`;
}

beforeAll(async () => {
  for (const format of formats) {
    const sandbox = startSandbox({ keepEntries: 10 });
    const proxy = await startFaultProxy({ host: '127.0.0.1', port: sandbox.port });
    faulty.set(format, { sandbox, proxy, fixed: await startFixedServer() });
  }
  fixture = await openChatFixture(catalog);
  fixture.canaries.add('prompt-canary');
  ({ key } = await fixture.customer('100', '--rpm', '1000000'));
});

afterAll(async () => {
  await fixture.close();
  for (const { sandbox, proxy, fixed } of faulty.values()) {
    await proxy.close();
    await sandbox.stop();
    fixed.server.close();
  }
});

/** Answers each connection's first bytes with what it is told, and ends it or says nothing more. */
function startFixedServer(): Promise<FixedServer> {
  return new Promise((resolve) => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => {
        socket.write(Buffer.from(fixed.bytes, 'latin1'));
        if (!fixed.thenSilence) socket.end();
      });
    });
    const fixed: FixedServer = { port: 0, bytes: '', thenSilence: false, server };
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      fixed.port = typeof address === 'object' ? (address?.port ?? 0) : 0;
      resolve(fixed);
    });
  });
}

function provoke({ cause }: Row, { sandbox, proxy, fixed }: Faulty): void {
  sandbox.directives = 'directives' in cause ? cause.directives : '';
  proxy.fault = 'network' in cause ? cause.network : { kind: 'none' };
  // A connection that the gateway has kept open would otherwise escape it.
  proxy.strike();
  if ('bytes' in cause) Object.assign(fixed, { bytes: cause.bytes, thenSilence: cause.thenSilence ?? false });
}

const prompt = 'prompt-canary one two three four five [[usage 10 20]]';

function chat(model: string, stream: boolean): Promise<Response> {
  return fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, stream, messages: [{ role: 'user', content: prompt }] }),
  });
}

/** What the client saw: the error that it can act on, or none. */
async function seen(
  response: Response,
): Promise<{ outcome: Outcome['kind']; error: ErrorBody['error'] | null }> {
  const text = await response.text();
  expect(text).not.toMatch(/sandbox-private|provider-key-canary|req_sandbox|127\.0\.0\.1/);
  expect([...response.headers.values()].join()).not.toMatch(/sandbox|provider-key-canary|127\.0\.0\.1/);
  if (!(response.headers.get('content-type') ?? '').startsWith('text/event-stream')) {
    const body = JSON.parse(text) as Partial<ErrorBody>;
    return { outcome: body.error ? 'refused' : 'completed', error: body.error ?? null };
  }
  const events = eventsOf(text);
  expect(events.at(-1)).toBe('[DONE]');
  const errors = events.filter((event) => event.startsWith('{"error"'));
  expect(errors.length).toBeLessThanOrEqual(1);
  const [error] = errors;
  if (error === undefined) return { outcome: 'completed', error: null };
  return { outcome: 'broken', error: (JSON.parse(error) as ErrorBody).error };
}

/** Withheld for want of usage, the answer itself was fine: the attempt is no failure of the provider's. */
const notTheProviders = new Set<ErrorCode>(['billing_consistency_error', 'usage_missing']);

/** A provider that repeats itself is told of, and what it delivered is paid for all the same. */
const charged = '0.000050000000';

/** Served by the first provider alone, whoever stands behind it. */
async function expectNoOther(row: Row, model: string, stream: boolean, outcome: Outcome): Promise<void> {
  const response = await chat(model, stream);
  const id = response.headers.get('x-service-request-id') ?? '';
  const { outcome: kind, error } = await seen(response);
  const generation = await finishedGeneration(fixture.gateway.origin, key, id);
  const code = outcome.kind === 'completed' ? null : outcome.code;
  const entry = code === null ? null : errorTable[code];
  const isPaid = outcome.kind === 'completed' || code === 'repeated_streaming_chunk_limit';
  const isFailedAttempt = code !== null && !notTheProviders.has(code);
  expect({
    row: row.name,
    model,
    stream,
    kind,
    status: response.status,
    type: error?.type,
    code: error?.code ?? null,
    generation: generation.status,
    recorded: generation.error?.code ?? null,
    fallback: generation.fallback,
    cost: generation.cost?.total ?? null,
    attempts: generation.attempts.map((attempt) => [attempt.status, attempt.upstream_status, attempt.error]),
  }).toEqual({
    row: row.name,
    model,
    stream,
    kind: outcome.kind,
    status: outcome.kind === 'refused' ? (entry?.status ?? 0) : 200,
    type: entry?.type,
    code,
    generation: outcome.kind === 'completed' ? 'completed' : 'failed',
    recorded: code,
    fallback: false,
    cost: isPaid ? charged : null,
    attempts: [
      [
        isFailedAttempt ? 'failed' : 'succeeded',
        outcome.kind === 'completed' ? 200 : outcome.upstreamStatus,
        isFailedAttempt ? code : null,
      ],
    ],
  });
}

async function expectTakenOver(
  row: Row,
  format: Format,
  provider: string,
  stream: boolean,
  code: ErrorCode,
): Promise<void> {
  const response = await chat(`pair-${provider}`, stream);
  const id = response.headers.get('x-service-request-id') ?? '';
  const { outcome } = await seen(response);
  const generation = await finishedGeneration(fixture.gateway.origin, key, id);
  const charges = await fixture.database
    .sql`select count(*)::int as count from ledger_entries where generation_id = ${uuidFromRequestId(id)}`;
  expect({
    row: row.name,
    stream,
    outcome,
    status: response.status,
    generation: generation.status,
    fallback: generation.fallback,
    provider: generation.provider,
    cost: generation.cost?.total,
    charges: charges[0]?.count,
    attempts: generation.attempts.map((attempt) => [attempt.provider, attempt.status, attempt.error]),
  }).toEqual({
    row: row.name,
    stream,
    outcome: 'completed',
    status: 200,
    generation: 'completed',
    fallback: true,
    provider: `${format}-steady`,
    cost: charged,
    charges: 1,
    attempts: [
      [provider, 'failed', code],
      [`${format}-steady`, 'succeeded', null],
    ],
  });
}

function outcomeOf(row: Row, format: Format, stream: boolean): Outcome {
  if (!stream) return row.whole;
  return 'kind' in row.stream ? row.stream : row.stream[format];
}

const isTimeout = (outcome: Outcome) => outcome.kind !== 'completed' && outcome.code === 'provider_timeout';

async function play(row: Row, format: Format): Promise<void> {
  const target = faulty.get(format);
  if (target === undefined) throw new Error('Every format has a provider.');
  const needsDeadline = [false, true].some((stream) => isTimeout(outcomeOf(row, format, stream)));
  const provider = `${format}${'bytes' in row.cause ? '-fixed' : ''}${needsDeadline ? '-hasty' : ''}`;
  for (const stream of [false, true]) {
    const outcome = outcomeOf(row, format, stream);
    provoke(row, target);
    await expectNoOther(row, `alone-${provider}`, stream, outcome);
    provoke(row, target);
    if (outcome.kind !== 'completed' && outcome.isAvoidable)
      await expectTakenOver(row, format, provider, stream, outcome.code);
    else await expectNoOther(row, `pair-${provider}`, stream, outcome);
  }
}

describe.each(rows)('$name', (row) => {
  test('gives exactly what the contract says, in every format', async () => {
    await Promise.all(formats.map((format) => play(row, format)));
  });
});

test('the table is as long as it should be', () => {
  expect(rows.length).toBeGreaterThanOrEqual(60);
  expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length);
});
