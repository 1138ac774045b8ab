/** Retries calls to an overloaded provider: at most twice, after a pause, and within one deadline. */
import { Deadlines } from '../lib/deadlines.ts';
import { LateError } from '../lib/within.ts';
import type { Decider, Decision, DecisionSource } from './decider.ts';
import { DecisionError } from './errors.ts';

const retryDelaysMs = [500, 1_500];
const maxJitterMs = 100;
const deadlines = new Deadlines();
export const deadlineMs = 60_000;

/** The clock and randomness, which tests replace. */
type Time = Readonly<{
  nowMs: () => number;
  /** Ends early when the client has gone. */
  sleep: (durationMs: number, client: AbortSignal) => Promise<void>;
  random: () => number;
}>;

type Patience = Readonly<{ time: Time; deadlineMs: number }>;

export const defaultPatience: Patience = {
  time: { nowMs: () => performance.now(), sleep: sleepUnlessAborted, random: Math.random },
  deadlineMs,
};

/**
 * Asks until there is an answer, an error other than overload, or no attempt left. `ask` gets the remaining time and must
 * not take longer. A pause that would exceed the deadline is not started.
 */
export async function askPatiently<Result>(
  ask: (leftMs: number) => Promise<Result>,
  client: AbortSignal,
  { time, deadlineMs: maxMs }: Patience,
): Promise<Result> {
  const endsAtMs = time.nowMs() + maxMs;
  for (let attempt = 0; ; attempt++) {
    try {
      return await ask(endsAtMs - time.nowMs());
    } catch (thrown) {
      const delayMs = retryDelaysMs[attempt];
      if (!isOverload(thrown) || delayMs === undefined) throw thrown;
      const { upstream } = thrown;
      const waitMs = delayMs + time.random() * maxJitterMs;
      if (time.nowMs() + waitMs >= endsAtMs) throw new DecisionError('timeout', { upstream });
      await time.sleep(waitMs, client);
      if (client.aborted) throw new DecisionError('timeout', { upstream });
    }
  }
}

function isOverload(thrown: unknown): thrown is DecisionError {
  return thrown instanceof DecisionError && thrown.reason === 'provider_overloaded';
}

/** Adds the retries and the deadline of the contract to a source. */
export function patiently(source: DecisionSource, patience: Patience = defaultPatience): Decider {
  return {
    model: source.model,
    decide: async (request, requestId, client, asker) => {
      const startedAtMs = patience.time.nowMs();
      const ask = (leftMs: number): Promise<Decision> =>
        endingWithin(leftMs, client, (signal) => source.ask(request, requestId, signal, asker));
      const left = { ...patience, deadlineMs: patience.deadlineMs - asker.waitedMs };
      const decision = await askPatiently(ask, client, left);
      return { ...decision, latencyMs: Math.round(patience.time.nowMs() - startedAtMs) };
    },
  };
}

/** The signal is aborted with a LateError when the time is up, or without one when the client has gone. */
async function endingWithin<Result>(
  durationMs: number,
  client: AbortSignal,
  run: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  const end = () => controller.abort();
  const late = () => controller.abort(new LateError('The provider did not answer in time.'));
  const deadline = deadlines.start(durationMs, late);
  client.addEventListener('abort', end);
  if (client.aborted) end();
  try {
    return await run(controller.signal);
  } finally {
    deadline.clear();
    client.removeEventListener('abort', end);
  }
}

async function sleepUnlessAborted(durationMs: number, client: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = () => resolve();
  const timer = setTimeout(end, durationMs);
  client.addEventListener('abort', end);
  if (client.aborted) end();
  await promise;
  clearTimeout(timer);
  client.removeEventListener('abort', end);
}
