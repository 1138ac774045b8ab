/**
 * Every fault of the table, for a client of the Messages format: what it gets, what is recorded, what is charged. The
 * provider that takes over speaks another format than the one that failed.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type ErrorCode, errorTable } from '../../src/errors.ts';
import { type ChatFixture, finishedGeneration, openChatFixture } from '../support/chat-fixture.ts';
import { startFaulty } from '../support/faulty-provider.ts';
import { type Environment, launchGateway } from '../support/gateway.ts';
import { eventsOf, type MessagesErrorBody, messagesClient, user } from '../support/messages-fixture.ts';
import { type Deadline, type Outcome, type Row, rows } from '../support/provider-faults.ts';
import { quickGateway } from '../support/quick-lease.ts';

const base = { openai: '/v1', anthropic: '/v1', google: '/v1beta' } as const;
type Format = keyof typeof base;
const formats = Object.keys(base) as Format[];
const other = { openai: 'anthropic', anthropic: 'google', google: 'openai' } as const;

/** Each row has its own provider in every format, so that all can be played at once. */
const played = rows.map((row, index) => ({ row, name: row.name, id: `row-${index}` }));
type Played = (typeof played)[number];

const closers: (() => Promise<unknown>)[] = [];
let fixture: ChatFixture;
let key: string;

const shortDeadlines = {
  first_byte: 'first_byte_ms: 600',
  idle: 'first_byte_ms: 4000, idle_ms: 2000',
  total: 'total_ms: 4000',
} satisfies Record<Deadline, string>;
const price = 'pricing: { billing_type: token, input: "1", output: "2" }';

function catalog(steadyUrl: string, ports: readonly number[]): string {
  const provider = (name: string, format: Format, url: string, deadline?: Deadline) => `
  ${name}: { adapter: ${format}, base_url: "${url}${base[format]}", api_key_env: MAIN_KEY, circuit: { failures: 1000 }${
    deadline === undefined ? '' : `, timeouts: { ${shortDeadlines[deadline]} }`
  } }`;
  const model = (name: string, providers: string) =>
    `\n  ${name}: { workload: chat, ${price}, providers: [${providers}] }`;
  const providers = formats.flatMap((format) => [
    provider(`${format}-steady`, format, steadyUrl),
    ...played.map(({ row, id }, index) =>
      provider(`${id}-${format}`, format, `http://127.0.0.1:${ports[index]}`, row.deadline),
    ),
  ]);
  const models = formats.flatMap((format) =>
    played.flatMap(({ id }) => [
      model(`alone-${id}-${format}`, `${id}-${format}`),
      model(`pair-${id}-${format}`, `${id}-${format}, ${other[format]}-steady`),
    ]),
  );
  return `price_version: "1"\nproviders:${providers.join('')}\nmodels:${models.join('')}\n`;
}

const launch = (environment: Environment) =>
  launchGateway(environment, { command: quickGateway('no-keep-alive.ts') }).listening;

beforeAll(async () => {
  const ports = await Promise.all(rows.map((row) => startFaulty(row, closers)));
  fixture = await openChatFixture((url) => catalog(url, ports), launch);
  fixture.canaries.add('prompt-canary');
  ({ key } = await fixture.customer('100', '--rpm', '1000000', '--max-concurrent', '1000'));
});

afterAll(async () => {
  await fixture.close();
  await Promise.all(closers.map((close) => close()));
});

const prompt = 'prompt-canary one two three four five [[usage 10 20]]';
/** What `prompt` makes the provider report, by the catalogue's price. */
const charged = '0.000050000000';
const types = new Map([
  [400, 'invalid_request_error'],
  [429, 'rate_limit_error'],
  [503, 'overloaded_error'],
  [504, 'timeout_error'],
]);

type Seen = Readonly<{ kind: Outcome['kind']; error: MessagesErrorBody['error'] | null }>;

async function seen(response: Response): Promise<Seen> {
  const text = await response.text();
  expect(text).not.toMatch(/sandbox-private|provider-key-canary|req_sandbox|msg_sandbox|127\.0\.0\.1/);
  expect([...response.headers.values()].join()).not.toMatch(/sandbox|provider-key-canary|127\.0\.0\.1/);
  if (!(response.headers.get('content-type') ?? '').startsWith('text/event-stream')) {
    const body = JSON.parse(text) as Partial<MessagesErrorBody>;
    return { kind: body.error ? 'refused' : 'completed', error: body.error ?? null };
  }
  const events = eventsOf(text);
  const isComplete = events.at(-1)?.type === 'message_stop';
  const failures = events.filter(({ type }) => type === 'error');
  // Nothing follows an error, and what looks complete has none.
  expect([failures.length, isComplete]).toEqual(isComplete ? [0, true] : [1, false]);
  if (isComplete) return { kind: 'completed', error: null };
  expect(events.at(-1)).toBe(failures[0] as never);
  expect(events.some(({ type }) => type === 'message_delta')).toBe(false);
  return { kind: 'broken', error: (failures[0] as unknown as MessagesErrorBody).error };
}

/** A reset destroys what its receiver has not read yet. On a busy machine it may overtake events. */
const maxOvertaken = 5;
const isReset = ({ cause }: Row) => 'directives' in cause && cause.directives.includes('[[cut');

async function ask(model: string, stream: boolean) {
  const response = await messagesClient(fixture, key).send({ model, stream, messages: [user(prompt)] });
  const id = response.headers.get('request-id') ?? '';
  const result = await seen(response);
  return {
    ...result,
    status: response.status,
    generation: await finishedGeneration(fixture.gateway.origin, key, id),
  };
}

async function expectNoOther(
  row: Row,
  model: string,
  stream: boolean,
  outcome: Outcome,
  overtaken = 0,
): Promise<void> {
  const { kind, error, status, generation } = await ask(model, stream);
  const code = outcome.kind === 'completed' ? null : outcome.code;
  const isOvertaken = isReset(row) && stream && (kind !== outcome.kind || generation.fallback);
  if (isOvertaken && overtaken < maxOvertaken)
    return await expectNoOther(row, model, stream, outcome, overtaken + 1);
  const isPaid = outcome.kind === 'completed' || outcome.isPaid === true;
  const expectedStatus = code === null ? 200 : (errorTable[code].status ?? 500);
  expect({
    row: row.name,
    model,
    stream,
    kind,
    status,
    type: error?.type ?? null,
    code: error?.code ?? null,
    generation: generation.status,
    recorded: generation.error?.code ?? null,
    fallback: generation.fallback,
    cost: generation.cost?.total ?? null,
  }).toEqual({
    row: row.name,
    model,
    stream,
    kind: outcome.kind,
    status: outcome.kind === 'refused' ? expectedStatus : 200,
    type: code === null ? null : (types.get(expectedStatus) ?? 'api_error'),
    code,
    generation: outcome.kind === 'completed' ? 'completed' : 'failed',
    recorded: code,
    fallback: false,
    cost: isPaid ? charged : null,
  });
}

async function expectTakenOver(row: Row, format: Format, id: string, stream: boolean, code: ErrorCode) {
  const { kind, generation } = await ask(`pair-${id}-${format}`, stream);
  expect({
    row: row.name,
    stream,
    kind,
    provider: generation.provider,
    cost: generation.cost?.total,
    attempts: generation.attempts.map((attempt) => [attempt.provider, attempt.status, attempt.error]),
  }).toEqual({
    row: row.name,
    stream,
    kind: 'completed',
    provider: `${other[format]}-steady`,
    cost: charged,
    attempts: [
      [`${id}-${format}`, 'failed', code],
      [`${other[format]}-steady`, 'succeeded', null],
    ],
  });
}

async function play({ row, id }: Played, format: Format, stream: boolean): Promise<void> {
  const outcome = !stream ? row.whole : 'kind' in row.stream ? row.stream : row.stream[format];
  await Promise.all([
    expectNoOther(row, `alone-${id}-${format}`, stream, outcome),
    outcome.kind !== 'completed' && outcome.isAvoidable
      ? expectTakenOver(row, format, id, stream, outcome.code)
      : Promise.resolve(),
  ]);
}

test.concurrent.each(played)('$name: what a client of this format gets', async (row) => {
  await Promise.all(formats.flatMap((format) => [play(row, format, false), play(row, format, true)]));
});
