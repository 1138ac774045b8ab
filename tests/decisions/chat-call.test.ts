/** A chat model that makes decisions, in every format that providers speak, on real sockets. */
import { afterAll, afterEach, describe, expect, test } from 'bun:test';
import { startSandbox } from '../../sandbox/server.ts';
import { askChatModel, gateAccountOf } from '../../src/decisions/chat-model.ts';
import type { Asker, DecisionRequest, Question } from '../../src/decisions/decider.ts';
import { DecisionError } from '../../src/decisions/errors.ts';
import { defaultPatience, patiently } from '../../src/decisions/retries.ts';
import { parseCatalog } from '../../src/models/catalog.ts';
import { Calls } from '../../src/providers/call.ts';
import { ProviderError } from '../../src/providers/upstream.ts';
import { candidatesByModel } from '../../src/routing/candidates.ts';
import { connectProviders } from '../../src/routing/connections.ts';
import type { Gate } from '../../src/routing/gate.ts';
import { Gates } from '../../src/routing/gates.ts';

const sandbox = startSandbox({ keepEntries: 1000 });
afterEach(() => {
  sandbox.directives = '';
});
afterAll(() => sandbox.stop());

const unrecorded = async () => undefined;

const formats = { openai: '/v1', anthropic: '/v1', google: '/v1beta' };
type Format = keyof typeof formats;

const catalogText = (format: Format) => `
price_version: "1"
providers:
  first:  { name: First, adapter: ${format}, base_url: "${sandbox.url}${formats[format]}", api_key_env: KEY, circuit: { failures: 4 } }
  second: { name: Second, adapter: ${format}, base_url: "${sandbox.url}${formats[format]}", api_key_env: KEY }
models:
  alone: { workload: chat, max_output_tokens: 1000, capabilities: [text_input, text_output, structured_output], providers: [first] }
  both:  { workload: chat, capabilities: [text_input, text_output, structured_output], providers: [first, second] }
`;

function sourceOf(format: Format, id = 'alone', key = 'key-canary') {
  const result = parseCatalog(catalogText(format), 'catalog.yaml');
  const model = result.ok ? result.catalog.models.get(id) : undefined;
  if (!result.ok || model === undefined) throw new Error('The catalogue is bad.');
  const connections = connectProviders(
    result.catalog,
    { secret: () => key, isProxied: true, calls: new Calls() },
    null,
  );
  const candidates = candidatesByModel(result.catalog, connections, new Gates()).get(id) ?? [];
  const gates = candidates.map(({ gate }) => gate);
  return { source: askChatModel(model, candidates, unrecorded), gates, model, candidates };
}

const questions = new Map<string, Question>([
  ['__proto__', { type: 'noul', instructions: 'It is safe.' }],
  [
    'route',
    {
      type: 'choice',
      instructions: 'Where to?',
      options: new Map([
        ['left', 'L'],
        ['right', 'R'],
      ]),
    },
  ],
  ['grade', { type: 'score', instructions: 'How good?', levels: ['bad', 'good'] }],
]);
const request: DecisionRequest = { model: 'alone', questions, text: '{"state":{"speed":3}}' };
const signal = new AbortController().signal;
const asker: Asker = { userId: 'one', waitedMs: 0 };
const person = gateAccountOf('one');

async function failureOf(asked: Promise<unknown>): Promise<DecisionError> {
  const thrown = await asked.catch((error: unknown) => error);
  if (thrown instanceof DecisionError) return thrown;
  throw new Error(`Expected a DecisionError, got ${JSON.stringify(thrown)}.`);
}

describe.each(Object.keys(formats) as Format[])('in the format of %s', (format) => {
  test('what the model is asked comes back as probabilities', async () => {
    sandbox.directives =
      '[[say {"q1":0.25,"q2":{"o1":0.1,"o2":0.3},"q3":{"l0":0.5,"l1":0.5}}]] [[usage 70 20]]';
    const { source } = sourceOf(format);
    const decision = await source.ask(request, 'req_1', signal, asker);
    expect(decision).toMatchObject({ model: 'alone', usage: { inputTokens: 70, outputTokens: 20 } });
    expect(decision.upstream).toMatchObject({ provider: 'First (asked alone)', status: 200 });
    expect(decision.answers.get('__proto__')).toEqual({ type: 'noul', probability: 0.25 });
    expect(decision.answers.get('route')).toMatchObject({ type: 'choice', choice: 'right' });
    expect(decision.answers.get('grade')).toMatchObject({ type: 'score', score: 0.5 });
  });

  test('a sandbox that fills in the schema is understood', async () => {
    const { answers } = await sourceOf(format).source.ask(request, 'req_1', signal, asker);
    expect([...answers.keys()]).toEqual(['__proto__', 'route', 'grade']);
    const route = answers.get('route');
    expect(route?.type === 'choice' && [...route.probabilities.values()]).toEqual([0.5, 0.5]);
  });

  test.each([
    ['[[status 422]]', 'request_rejected', 422],
    ['[[status 400]]', 'provider_error', 400],
    ['[[status 401]]', 'provider_authentication_error', 401],
    ['[[status 500]]', 'provider_error', 500],
    ['[[status 529]]', 'provider_overloaded', 529],
    ['[[redirect]]', 'provider_error', 302],
    ['[[not-json]]', 'invalid_response', 200],
    ['[[error-body]]', 'invalid_response', 200],
    ['[[say I would rather not.]]', 'invalid_response', 200],
    ['[[say {"q1":2,"q2":{"o1":1,"o2":0},"q3":{"l0":1,"l1":0}}]]', 'invalid_response', 200],
    ['[[no-usage]]', 'invalid_response', 200],
    ['[[close]]', 'connection_error', null],
    ['[[cut 1]]', 'connection_error', 200],
  ] as const)('%s is %s', async (directive, reason, status) => {
    sandbox.directives = directive;
    const error = await failureOf(sourceOf(format).source.ask(request, 'req_1', signal, asker));
    expect(error.reason).toBe(reason);
    expect(error.upstream).toMatchObject({ provider: 'First (asked alone)', status });
  });

  test('a limit says how long to wait, and the next request is told without a call', async () => {
    sandbox.directives = '[[status 429]] [[retry-after 30]]';
    const { source } = sourceOf(format);
    const limited = await failureOf(source.ask(request, 'req_1', signal, asker));
    expect(limited).toMatchObject({ reason: 'rate_limit', retryAfterSeconds: 30 });
    const calls = sandbox.entries.length;
    const paused = await failureOf(source.ask(request, 'req_1', signal, asker));
    expect(paused).toMatchObject({ reason: 'provider_error', upstream: null });
    expect(sandbox.entries.length).toBe(calls);
  });

  test('a bad key is the gateway’s own fault, whatever the vendor calls it', async () => {
    const { source } = sourceOf(format, 'alone', 'invalid-key');
    expect((await failureOf(source.ask(request, 'req_1', signal, asker))).reason).toBe(
      'provider_authentication_error',
    );
  });
});

describe('the gate of a provider', () => {
  test('counts failures, and skips the provider after enough of them', async () => {
    sandbox.directives = '[[status 500]]';
    const { source, gates } = sourceOf('openai');
    for (let time = 0; time < 4; time++) await failureOf(source.ask(request, 'req_1', signal, asker));
    expect(gates[0]?.waitMs(person)).toBeGreaterThan(0);
    expect((await failureOf(source.ask(request, 'req_1', signal, asker))).upstream).toBeNull();
  });

  test('another provider is called while the first is skipped', async () => {
    sandbox.directives = '[[status 429]] [[retry-after 30]]';
    const { source } = sourceOf('openai', 'both');
    await failureOf(source.ask(request, 'req_1', signal, asker));
    sandbox.directives = '';
    const { upstream } = await source.ask(request, 'req_1', signal, asker);
    expect(upstream.provider).toBe('Second (asked both)');
  });

  test('counts it as a failure when the deadline passes, but not when the client leaves', async () => {
    sandbox.directives = '[[hang]]';
    const { source, gates } = sourceOf('openai');
    for (let time = 0; time < 5; time++) {
      const client = new AbortController();
      setTimeout(() => client.abort(), 20);
      const left = patiently(source).decide(request, 'req_1', client.signal, asker);
      expect((await failureOf(left)).reason).toBe('timeout');
    }
    expect(gates[0]?.waitMs(person)).toBe(0);
    const hurried = patiently(source, { ...defaultPatience, deadlineMs: 20 });
    for (let time = 0; time < 4; time++)
      expect((await failureOf(hurried.decide(request, 'req_1', signal, asker))).reason).toBe('timeout');
    expect(gates[0]?.waitMs(person)).toBeGreaterThan(0);
  });

  test('does not count a failure when the decision had waited so long that too little time was left', async () => {
    sandbox.directives = '[[hang]]';
    const { source, gates } = sourceOf('openai');
    const hurried = patiently(source, { ...defaultPatience, deadlineMs: 30_020 });
    const late = { userId: 'one', waitedMs: 30_000 };
    for (let time = 0; time < 4; time++)
      expect((await failureOf(hurried.decide(request, 'req_1', signal, late))).reason).toBe('timeout');
    expect(gates[0]?.waitMs(person)).toBe(0);
  });

  test('closes to the person whose questions fail, and to nobody else, whoever else has failed', async () => {
    sandbox.directives = '[[status 500]]';
    const { source, gates } = sourceOf('openai');
    for (let time = 0; time < 3; time++)
      gates[0]?.enter('account')?.failed(new ProviderError('provider_unavailable', { upstreamStatus: 500 }));
    for (let time = 0; time < 4; time++) await failureOf(source.ask(request, 'req_1', signal, asker));
    const waits = [person, gateAccountOf('another'), 'another account'].map((name) => gates[0]?.waitMs(name));
    expect(waits.map((waitMs) => waitMs === 0)).toEqual([false, true, true]);
  });

  test('stays open to others when one person was told to wait', async () => {
    sandbox.directives = '[[status 429]] [[retry-after 30]]';
    const { source, gates } = sourceOf('openai');
    await failureOf(source.ask(request, 'req_1', signal, asker));
    expect(gates[0]?.waitMs(person)).toBeGreaterThan(0);
    expect(gates[0]?.waitMs('account')).toBe(0);
  });

  test('closes to everyone when the provider cannot be reached', async () => {
    const { model, candidates } = sourceOf('openai');
    const nowhere = candidates.map((candidate) => ({
      ...candidate,
      connection: { ...candidate.connection, baseUrl: 'http://127.0.0.1:9/v1' },
    }));
    for (let time = 0; time < 4; time++) {
      const asked = askChatModel(model, nowhere, unrecorded).ask(request, 'req_1', signal, asker);
      expect((await failureOf(asked)).reason).toBe('connection_error');
    }
    expect(candidates[0]?.gate.waitMs('account')).toBeGreaterThan(0);
  });

  test('does not count an answer that merely does not fit the question', async () => {
    sandbox.directives = '[[say no]]';
    const { source, gates } = sourceOf('openai');
    for (let time = 0; time < 5; time++) await failureOf(source.ask(request, 'req_1', signal, asker));
    expect(gates[0]?.waitMs(person)).toBe(0);
  });
});

test('a defect before the call returns the permit too', async () => {
  const { model, candidates } = sourceOf('openai');
  const ends: string[] = [];
  const permit = {
    succeeded: () => void ends.push('succeeded'),
    failed: () => void ends.push('failed'),
    withdrawn: () => void ends.push('withdrawn'),
  };
  const broken = candidates.map((candidate) => ({
    ...candidate,
    gate: { enter: () => permit } as unknown as Gate,
    get upstreamModel(): string {
      throw new Error('A defect.');
    },
  }));
  const asked = askChatModel(model, broken, unrecorded).ask(request, 'req_1', signal, asker);
  expect(await asked.catch((error: Error) => error.message)).toBe('A defect.');
  expect(ends).toEqual(['withdrawn']);
});

test('an overload is tried again, and nothing else', async () => {
  const time = { ...defaultPatience.time, sleep: async () => undefined };
  const decider = patiently(sourceOf('anthropic', 'both').source, { ...defaultPatience, time });
  sandbox.directives = '[[flaky 2 529 overloaded]]';
  const decided = await decider.decide(request, 'req_1', signal, asker);
  expect(decided.upstream.status).toBe(200);
  sandbox.directives = '[[flaky 1 503 unavailable]]';
  expect((await failureOf(decider.decide(request, 'req_1', signal, asker))).reason).toBe('provider_error');
});
