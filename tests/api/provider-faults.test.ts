/**
 * Every fault of the table in every format, and for clients of every dialect: what the client gets, what is recorded, what is
 * charged, and whether another provider takes over. The real gateway, real sockets, a sandbox in each format behind a network
 * that can be made bad.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type ErrorCode, errorTable } from '../../src/errors.ts';
import { uuidFromRequestId } from '../../src/lib/ids.ts';
import {
  type ChatFixture,
  type ErrorBody,
  finishedGeneration,
  openChatFixture,
} from '../support/chat-fixture.ts';
import { type FaultDialect, faultDialects } from '../support/fault-dialects.ts';
import { startFaulty } from '../support/faulty-provider.ts';
import { type Environment, launchGateway } from '../support/gateway.ts';
import {
  adapterOf,
  type Deadline,
  type Format,
  formats,
  type Outcome,
  pathOf,
  type Row,
  routeTo,
  rows,
} from '../support/provider-faults.ts';
import { quickGateway } from '../support/quick-lease.ts';

/** Each row has its own provider in every format, so that all can be played at once. */
const played = rows.map((row, index) => ({ row, name: row.name, id: `row-${index}` }));
type Played = (typeof played)[number];

/** What has to be closed in the end. */
const closers: (() => Promise<unknown>)[] = [];
let fixture: ChatFixture;
let key: string;

/**
 * Before the first event of a stream, the deadline for the first byte counts. It has to end before keep-alive sends the
 * headers, because only until then a failure has its own status.
 */
const shortDeadlines = {
  first_byte: 'first_byte_ms: 600',
  idle: 'first_byte_ms: 4000, idle_ms: 2000',
  total: 'total_ms: 4000',
} satisfies Record<Deadline, string>;
const price = 'pricing: { billing_type: token, input: "1", output: "2" }';

/** `ports` are those of the providers, by row. */
function catalog(steadyUrl: string, ports: readonly number[]): string {
  const provider = (name: string, format: Format, url: string, deadline?: Deadline) => `
  ${name}: { adapter: ${adapterOf(format)}, base_url: "${url}${pathOf[format]}", api_key_env: MAIN_KEY, circuit: { failures: 1000 }${
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
      model(`alone-${id}-${format}`, routeTo(`${id}-${format}`, format)),
      ...Array.from(new Set(faultDialects.map(({ takesOver }) => takesOver[format])), (other) =>
        model(
          `pair-${id}-${format}-${other}`,
          `${routeTo(`${id}-${format}`, format)}, ${routeTo(`${other}-steady`, other)}`,
        ),
      ),
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

function ask({ path, headers, body }: FaultDialect, model: string, stream: boolean): Promise<Response> {
  return fetch(`${fixture.gateway.origin}${path}`, {
    method: 'POST',
    headers: { ...headers(key), 'content-type': 'application/json' },
    body: JSON.stringify(body(model, stream, prompt)),
  });
}

/** What the client saw: the error that it can act on, or none. */
async function seen(
  { failureIn }: FaultDialect,
  response: Response,
): Promise<{ outcome: Outcome['kind']; error: Pick<ErrorBody['error'], 'type' | 'code'> | null }> {
  const text = await response.text();
  expect(text).not.toMatch(/sandbox-private|provider-key-canary|req_sandbox|msg_sandbox|127\.0\.0\.1/);
  expect([...response.headers.values()].join()).not.toMatch(/sandbox|provider-key-canary|127\.0\.0\.1/);
  if (!(response.headers.get('content-type') ?? '').startsWith('text/event-stream')) {
    const { error } = JSON.parse(text) as Partial<ErrorBody>;
    return { outcome: error ? 'refused' : 'completed', error: error ?? null };
  }
  const error = failureIn(text);
  return { outcome: error === null ? 'completed' : 'broken', error };
}

/** The answer was withheld because it had no usage, but was fine itself: the attempt is not a failure of the provider. */
const notTheProviders = new Set<ErrorCode>(['billing_consistency_error', 'usage_missing']);

/** What `prompt` makes the provider report, by the catalogue's price. */
const charged = '0.000050000000';

/** A reset destroys what its receiver has not read yet. On a busy machine it may overtake events. */
const maxOvertaken = 5;
const isReset = ({ cause }: Row) => 'directives' in cause && cause.directives.includes('[[cut');

/** What the client is told. Models are named `alone-row-11-openai`: the request was its own where the provider got it as it was. */
function toldCode({ ownFormat }: FaultDialect, model: string, outcome: Outcome): ErrorCode | null {
  if (outcome.kind === 'completed') return null;
  const isOwn = ownFormat !== null && model.split('-')[3] === ownFormat;
  const isRefused =
    outcome.code === 'provider_bad_request' && [400, 413, 422].includes(outcome.upstreamStatus ?? 0);
  return isOwn && isRefused ? 'invalid_request' : outcome.code;
}

/** Served by the first provider alone, whatever the fallback. */
async function expectNoOther(
  dialect: FaultDialect,
  row: Row,
  model: string,
  stream: boolean,
  outcome: Outcome,
  overtaken = 0,
): Promise<void> {
  const response = await ask(dialect, model, stream);
  const id = response.headers.get('x-service-request-id') ?? '';
  const { outcome: kind, error } = await seen(dialect, response);
  const generation = await finishedGeneration(fixture.gateway.origin, key, id);
  const code = outcome.kind === 'completed' ? null : outcome.code;
  const isOvertaken = isReset(row) && stream && (kind !== outcome.kind || generation.fallback);
  if (isOvertaken && overtaken < maxOvertaken)
    return await expectNoOther(dialect, row, model, stream, outcome, overtaken + 1);
  const told = toldCode(dialect, model, outcome);
  const entry = told === null ? null : errorTable[told];
  const isPaid = outcome.kind === 'completed' || outcome.isPaid === true;
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
    type: told === null ? undefined : dialect.typeOf(told),
    code: told,
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

const pairOf = ({ takesOver }: FaultDialect, provider: string, format: Format) =>
  `pair-${provider}-${takesOver[format]}`;

async function expectTakenOver(
  dialect: FaultDialect,
  row: Row,
  format: Format,
  provider: string,
  stream: boolean,
  code: ErrorCode,
): Promise<void> {
  const steady = `${dialect.takesOver[format]}-steady`;
  const response = await ask(dialect, pairOf(dialect, provider, format), stream);
  const id = response.headers.get('x-service-request-id') ?? '';
  const { outcome } = await seen(dialect, response);
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
    provider: steady,
    cost: charged,
    charges: 1,
    attempts: [
      [provider, 'failed', code],
      [steady, 'succeeded', null],
    ],
  });
}

function outcomeOf(row: Row, format: Format, stream: boolean): Outcome {
  if (!stream) return row.whole;
  return 'kind' in row.stream ? row.stream : row.stream[format];
}

async function play(
  dialect: FaultDialect,
  { row, id }: Played,
  format: Format,
  stream: boolean,
): Promise<void> {
  const provider = `${id}-${format}`;
  const outcome = outcomeOf(row, format, stream);
  await Promise.all([
    expectNoOther(dialect, row, `alone-${provider}`, stream, outcome),
    outcome.kind !== 'completed' && outcome.isAvoidable
      ? expectTakenOver(dialect, row, format, provider, stream, outcome.code)
      : expectNoOther(dialect, row, pairOf(dialect, provider, format), stream, outcome),
  ]);
}

const inEveryDialect = played.flatMap((row) => faultDialects.map((dialect) => ({ ...row, dialect })));

test.concurrent.each(inEveryDialect)(
  '$name, in $dialect.name: exactly what the contract says, in every format',
  async ({ dialect, ...row }) => {
    await Promise.all(
      formats.flatMap((format) => [play(dialect, row, format, false), play(dialect, row, format, true)]),
    );
  },
);

test('the table is as long as it should be', () => {
  expect(rows.length).toBeGreaterThanOrEqual(60);
  expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length);
});
