/** When an overloaded provider is called again: by a simulated clock, and once by the real one. */
import { describe, expect, spyOn, test } from 'bun:test';
import fc from 'fast-check';
import type { DecisionRequest } from '../../src/decisions/decider.ts';
import { DecisionError, type DecisionErrorName } from '../../src/decisions/errors.ts';
import { askProvider } from '../../src/decisions/provider.ts';
import { askPatiently, defaultPatience, patiently } from '../../src/decisions/retries.ts';

const upstream = { provider: 'P', status: 529, requestId: null };

/** What one attempt does: how long it takes, and how it ends. */
type Attempt = Readonly<{ durationMs: number; ending: 'answer' | DecisionErrorName }>;

/** Plays attempts on a clock that moves only when something waits or takes time. */
async function play(
  attempts: readonly Attempt[],
  options: Readonly<{ random?: () => number; leavesAtMs?: number }> = {},
) {
  const { random = () => 0, leavesAtMs = Number.POSITIVE_INFINITY } = options;
  const deadlineMs = 60_000;
  let nowMs = 1_000_000;
  const startedAtMs = nowMs;
  const client = new AbortController();
  const pass = (durationMs: number) => {
    nowMs += durationMs;
    if (nowMs - startedAtMs >= leavesAtMs) client.abort();
  };
  const begun: number[] = [];
  const waits: number[] = [];
  const ask = async (leftMs: number) => {
    begun.push(nowMs - startedAtMs);
    expect(leftMs).toBe(deadlineMs - (nowMs - startedAtMs));
    const { durationMs, ending } = attempts[begun.length - 1] ?? { durationMs: 0, ending: 'answer' };
    pass(Math.min(durationMs, leftMs));
    if (client.signal.aborted || durationMs >= leftMs) throw new DecisionError('timeout', { upstream });
    if (ending !== 'answer') throw new DecisionError(ending, { upstream });
    return 'answer';
  };
  const sleep = async (durationMs: number) => {
    waits.push(durationMs);
    pass(Math.min(durationMs, Math.max(0, leavesAtMs - (nowMs - startedAtMs))));
  };
  const time = { nowMs: () => nowMs, sleep, random };
  const outcome = await askPatiently(ask, client.signal, { time, deadlineMs }).catch((thrown: unknown) => {
    if (!(thrown instanceof DecisionError)) throw thrown;
    return thrown;
  });
  return {
    outcome: outcome instanceof DecisionError ? outcome.reason : outcome,
    error: outcome instanceof DecisionError ? outcome : null,
    begun,
    waits,
    tookMs: nowMs - startedAtMs,
  };
}

const overload: Attempt = { durationMs: 10, ending: 'provider_overloaded' };
const answer: Attempt = { durationMs: 10, ending: 'answer' };

describe('the schedule', () => {
  test('a success ends it', async () => {
    expect(await play([answer])).toMatchObject({ outcome: 'answer', begun: [0], waits: [] });
    expect(await play([overload, answer])).toMatchObject({ outcome: 'answer', waits: [500] });
    expect(await play([overload, overload, answer])).toMatchObject({ outcome: 'answer', waits: [500, 1500] });
  });

  test('there are at most three attempts', async () => {
    const { outcome, begun, error } = await play([overload, overload, overload, answer]);
    expect(outcome).toBe('provider_overloaded');
    expect(begun).toEqual([0, 510, 2020]);
    expect(error?.upstream).toEqual(upstream);
  });

  test.each<DecisionErrorName>([
    'request_rejected',
    'rate_limit',
    'provider_authentication_error',
    'provider_error',
    'connection_error',
    'invalid_response',
    'timeout',
  ])('%s is not tried again, first or later', async (ending) => {
    const failure = { durationMs: 10, ending };
    expect(await play([failure, answer])).toMatchObject({ outcome: ending, begun: [0] });
    expect(await play([overload, failure, answer])).toMatchObject({ outcome: ending, begun: [0, 510] });
  });

  test('each wait has up to 100 ms more', async () => {
    const { waits } = await play([overload, overload, answer], { random: () => 0.999 });
    expect(waits).toEqual([500 + 99.9, 1500 + 99.9]);
  });

  test('a wait that does not fit into the deadline is a timeout at once', async () => {
    const slow = { durationMs: 59_500, ending: 'provider_overloaded' } as const;
    expect(await play([slow, answer])).toMatchObject({ outcome: 'timeout', waits: [], tookMs: 59_500 });
    const slower = { durationMs: 59_499, ending: 'provider_overloaded' } as const;
    expect(await play([slower, { ...answer, durationMs: 0 }])).toMatchObject({
      outcome: 'answer',
      begun: [0, 59_999],
    });
    const { error } = await play([slow]);
    expect(error?.upstream).toEqual(upstream);
  });

  test('the deadline is one for all attempts', async () => {
    const long = { durationMs: 40_000, ending: 'provider_overloaded' } as const;
    expect(await play([long, long, answer])).toMatchObject({ outcome: 'timeout', tookMs: 60_000 });
  });

  test('nothing is retried for a client that leaves during a wait', async () => {
    expect(await play([overload, answer], { leavesAtMs: 200 })).toMatchObject({
      outcome: 'timeout',
      begun: [0],
      tookMs: 200,
    });
  });
});

test('whatever happens: never more than three attempts, never past the deadline, never again after an end', async () => {
  const anyEnding = fc.constantFrom<Attempt['ending']>(
    'answer',
    'provider_overloaded',
    'provider_overloaded',
    'provider_overloaded',
    'rate_limit',
    'connection_error',
  );
  const anyAttempt = fc.record({ durationMs: fc.integer({ min: 0, max: 40_000 }), ending: anyEnding });
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyAttempt, { maxLength: 6 }),
      fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { minLength: 2, maxLength: 2 }),
      fc.option(fc.integer({ min: 1, max: 70_000 }), { nil: Number.POSITIVE_INFINITY }),
      async (attempts, chances, leavesAtMs) => {
        let drawn = 0;
        const random = () => chances[drawn++] ?? 0;
        const { outcome, begun, waits, tookMs } = await play(attempts, { random, leavesAtMs });
        expect(begun.length).toBeWithin(1, 4);
        expect(tookMs).toBeLessThanOrEqual(60_000);
        expect(waits.every((wait, index) => wait - ([500, 1500][index] ?? 0) < 100.001)).toBe(true);
        expect(waits.every((wait, index) => wait >= ([500, 1500][index] ?? 0))).toBe(true);
        expect(begun.every((atMs) => atMs < Math.min(60_000, leavesAtMs))).toBe(true);
        const first = attempts.findIndex(({ ending }) => ending !== 'provider_overloaded');
        if (outcome === 'answer') expect(begun.length).toBe((first < 0 ? attempts.length : first) + 1);
        if (outcome === 'provider_overloaded') expect(begun.length).toBe(3);
      },
    ),
  );
});

const request: DecisionRequest = {
  model: 'm',
  questions: new Map([['a', { type: 'noul', instructions: 'x' }]]),
  text: '{"model":"m"}',
};
const good = {
  model: 'v',
  answers: { a: { type: 'noul', noul: 1 } },
  usage: { input_tokens: 1, output_tokens: 1 },
};

/** A provider on a real socket. */
function serve(handle: (request: Request, count: number) => Response | Promise<Response>) {
  const calls: number[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    fetch: (incoming) => handle(incoming, calls.push(performance.now())),
  });
  const source = askProvider({
    name: 'P',
    baseUrl: `http://127.0.0.1:${server.port}`,
    apiKey: 'k',
    model: 'm',
  });
  return { calls, source, stop: () => server.stop(true) };
}

async function reasonOf(decision: Promise<unknown>): Promise<string> {
  const thrown = await decision.catch((error: unknown) => error);
  return thrown instanceof DecisionError ? thrown.reason : 'none';
}

const asker = { userId: 'one', waitedMs: 0 };
const nobodyLeaves = new AbortController().signal;

test('for real: two overloads, an answer, and the time between them', async () => {
  const provider = serve((_, count) => (count < 3 ? new Response('', { status: 529 }) : Response.json(good)));
  const decided = await patiently(provider.source).decide(request, 'req_1', nobodyLeaves, asker);
  expect(decided.answers.get('a')).toEqual({ type: 'noul', probability: 1 });
  const [first = 0, second = 0, third = 0] = provider.calls;
  expect(provider.calls).toHaveLength(3);
  expect(second - first).toBeGreaterThan(495);
  expect(third - second).toBeGreaterThan(1495);
  expect(decided.latencyMs).toBeGreaterThanOrEqual(2000);
  await provider.stop();
});

const hurried = { ...defaultPatience, deadlineMs: 200 };

describe('the deadline, for real', () => {
  test('ends a provider that says nothing', async () => {
    const provider = serve(() => new Promise<Response>(() => undefined));
    expect(
      await reasonOf(patiently(provider.source, hurried).decide(request, 'r', nobodyLeaves, asker)),
    ).toBe('timeout');
    await provider.stop();
  });

  test('ends a provider that stops in mid-answer', async () => {
    const provider = serve(
      () =>
        new Response(
          new ReadableStream({
            start: (controller) => controller.enqueue(Buffer.from('{"model":')),
          }),
        ),
    );
    expect(
      await reasonOf(patiently(provider.source, hurried).decide(request, 'r', nobodyLeaves, asker)),
    ).toBe('timeout');
    await provider.stop();
  });

  test('is shared: an overload leaves no time for a wait', async () => {
    const provider = serve(() => new Response('', { status: 529 }));
    expect(
      await reasonOf(patiently(provider.source, hurried).decide(request, 'r', nobodyLeaves, asker)),
    ).toBe('timeout');
    expect(provider.calls).toHaveLength(1);
    await provider.stop();
  });
});

test('a wait that has ended no longer listens for the client to leave', async () => {
  const { signal } = new AbortController();
  const listeners = new Set<unknown>();
  spyOn(signal, 'addEventListener').mockImplementation((_, listener) => void listeners.add(listener));
  spyOn(signal, 'removeEventListener').mockImplementation((_, listener) => void listeners.delete(listener));
  const waiting = defaultPatience.time.sleep(1, signal);
  expect(listeners.size).toBe(1);
  await waiting;
  expect(listeners.size).toBe(0);
});

describe('a client that leaves', () => {
  test('ends a call in progress', async () => {
    const client = new AbortController();
    const { promise: gone, resolve } = Promise.withResolvers<void>();
    const provider = serve((incoming) => {
      incoming.signal.addEventListener('abort', () => resolve());
      client.abort();
      return new Promise<Response>(() => undefined);
    });
    expect(await reasonOf(patiently(provider.source).decide(request, 'r', client.signal, asker))).toBe(
      'timeout',
    );
    await gone;
    await provider.stop();
  });

  test('ends the wait for another attempt', async () => {
    const client = new AbortController();
    const provider = serve(() => {
      setTimeout(() => client.abort(), 100);
      return new Response('', { status: 529 });
    });
    expect(await reasonOf(patiently(provider.source).decide(request, 'r', client.signal, asker))).toBe(
      'timeout',
    );
    expect(provider.calls).toHaveLength(1);
    await provider.stop();
  });

  test('before the call causes no call at all', async () => {
    const client = new AbortController();
    client.abort();
    const provider = serve(() => Response.json(good));
    expect(await reasonOf(patiently(provider.source).decide(request, 'r', client.signal, asker))).toBe(
      'timeout',
    );
    expect(provider.calls).toHaveLength(0);
    await provider.stop();
  });
});
