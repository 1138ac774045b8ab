/** How many decisions of one person run at a time, with a provider that answers when the test lets it. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { DecisionError } from '../../src/decisions/errors.ts';
import { runDecision } from '../../src/decisions/handler.ts';
import type { DecisionErrorBody } from '../../src/decisions/present.ts';
import { askProvider } from '../../src/decisions/provider.ts';
import { defaultPatience, patiently } from '../../src/decisions/retries.ts';
import { createDecisionSlots } from '../../src/decisions/slots.ts';
import { BodyBudget } from '../../src/http/body-budget.ts';
import { createLog } from '../../src/lib/log.ts';
import { eventually } from '../support/eventually.ts';

/** The calls that the provider has not answered yet, by what they are about. */
let held: Map<string, () => void>;
let provider: Bun.Server<undefined>;
let server: Bun.Server<undefined>;

beforeEach(() => {
  held = new Map();
  provider = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      const { state } = (await request.json()) as { state: { about: string } };
      const { promise, resolve } = Promise.withResolvers<void>();
      held.set(state.about, resolve);
      await promise;
      held.delete(state.about);
      const answers = { safe: { type: 'noul', noul: 0.5 } };
      return Response.json({ model: 'm', answers, usage: { input_tokens: 1, output_tokens: 1 } });
    },
  });
  const source = askProvider({ name: 'Acme', baseUrl: provider.url.origin, apiKey: 'k', model: 'm' });
  const decider = patiently(source);
  // A quarter of it is for one person.
  const bodies = new BodyBudget(1024 * 1024);
  const services = {
    bodies,
    decisions: () => decider,
    publicUrl: null,
    log: createLog('error', () => undefined),
    sessions: {
      find: async (headers: Headers) => {
        const userId = headers.get('cookie') ?? '';
        return { userId, sessionId: 's', email: 'e', name: 'n', isOperator: false, mustVerify: false };
      },
    },
  };
  const handle = runDecision(services);
  server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request) =>
      handle(request, { requestId: `req_${'0'.repeat(32)}` }).finally(() => bodies.release(request)),
  });
});

afterEach(async () => {
  await server.stop(true);
  await provider.stop(true);
});

function ask(person: string, about: string, signal?: AbortSignal, lengthBytes = 0): Promise<Response> {
  return fetch(server.url, {
    method: 'POST',
    headers: { origin: server.url.origin, cookie: person, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'm',
      state: { about },
      questions: { safe: { type: 'noul', instructions: 'x' } },
    }).padStart(lengthBytes),
    ...(signal === undefined ? {} : { signal }),
  });
}

test('four at a time, the others in the order they came, and nobody waits for someone else', async () => {
  const answers: Promise<Response>[] = [];
  for (let index = 0; index < 4; index++) answers.push(ask('ada', `ada ${index}`));
  await eventually('the provider is asked', () => held.size === 4);
  const left = new AbortController();
  const gone = ask('ada', 'gone', left.signal).catch(() => 'gone');
  const next = ask('ada', 'next');
  const others = ask('bob', 'bob');
  await eventually('the provider is asked', () => held.has('bob'));
  held.get('bob')?.();
  expect((await others).status).toBe(200);
  expect([...held.keys()].toSorted()).toEqual(['ada 0', 'ada 1', 'ada 2', 'ada 3']);
  left.abort();
  expect(await gone).toBe('gone');
  // What is sent after it is answered after it.
  const later = ask('bob', 'later');
  await eventually('the provider is asked', () => held.has('later'));
  held.get('later')?.();
  expect((await later).status).toBe(200);
  held.get('ada 2')?.();
  expect((await answers[2])?.status).toBe(200);
  await eventually('the provider is asked', () => held.size === 4);
  // The provider was never called for a client that left while waiting.
  expect([...held.keys()].toSorted()).toEqual(['ada 0', 'ada 1', 'ada 3', 'next']);
  for (const answer of held.values()) answer();
  for (const answer of [...answers, next]) expect((await answer).status).toBe(200);
});

test('429 rate_limit without a time when a hundred wait', async () => {
  const answers = Array.from({ length: 104 }, (_, index) => ask('ada', `${index}`));
  await eventually('the provider is asked', () => held.size === 4);
  // All are on their way, but their order is not certain: the next one may still get a place.
  let refused = await Promise.race([ask('ada', 'one more'), Bun.sleep(200)]);
  while (!(refused instanceof Response))
    refused = await Promise.race([ask('ada', 'one more'), Bun.sleep(200)]);
  expect(refused.status).toBe(429);
  const { error } = (await refused.json()) as DecisionErrorBody;
  expect(error.type).toBe('rate_limit');
  expect(error).not.toHaveProperty('provider');
  expect(error).not.toHaveProperty('retry_after_seconds');
  expect(refused.headers.has('retry-after')).toBe(false);
  const answering = setInterval(() => {
    for (const answer of held.values()) answer();
  }, 1);
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  clearInterval(answering);
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(100);
});

test('a request that waits for too long is told so, and never reaches the provider', async () => {
  const inSlotOf = createDecisionSlots(1, 1, 50);
  const { promise, resolve } = Promise.withResolvers<number>();
  const first = inSlotOf('ada', new AbortController().signal, () => promise);
  let hasRun = false;
  const late = await inSlotOf('ada', new AbortController().signal, async () => {
    hasRun = true;
  }).catch((thrown: unknown) => thrown);
  expect(late instanceof DecisionError && late.reason).toBe('timeout');
  resolve(1);
  // A running one has its own deadline.
  expect(await first).toBe(1);
  expect(hasRun).toBe(false);
});

test('the time spent waiting counts towards the deadline', async () => {
  let leftMs = 0;
  const time = { nowMs: () => 0, sleep: async () => undefined, random: () => 0 };
  const source = {
    model: 'm',
    ask: (_request: unknown, _requestId: string, signal: AbortSignal) =>
      new Promise<never>((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(new DecisionError('timeout'))),
      ),
  };
  const startedAtMs = performance.now();
  const decider = patiently(source, { ...defaultPatience, time, deadlineMs: 60_000 });
  const request = { model: 'm', questions: new Map(), text: '{}' };
  const outcome = await decider
    .decide(request, 'r', new AbortController().signal, { userId: 'one', waitedMs: 59_950 })
    .catch((thrown: unknown) => thrown);
  leftMs = performance.now() - startedAtMs;
  expect(outcome instanceof DecisionError && outcome.reason).toBe('timeout');
  expect(leftMs).toBeLessThan(30_000);
});

test('429 rate_limit when the bodies of one person have no more room, and nobody else notices', async () => {
  const large = 150 * 1024;
  const first = ask('ada', 'first', undefined, large);
  await eventually('the provider is asked', () => held.has('first'));
  const refused = await ask('ada', 'second', undefined, large);
  expect(refused.status).toBe(429);
  expect(((await refused.json()) as DecisionErrorBody).error.type).toBe('rate_limit');
  const others = [ask('ada', 'small'), ask('bob', 'large', undefined, large)];
  await eventually('the provider is asked', () => held.size === 3);
  for (const answer of held.values()) answer();
  for (const answer of [first, ...others]) expect((await answer).status).toBe(200);
  const next = ask('ada', 'next', undefined, large);
  await eventually('the provider is asked', () => held.has('next'));
  held.get('next')?.();
  expect((await next).status).toBe(200);
});
