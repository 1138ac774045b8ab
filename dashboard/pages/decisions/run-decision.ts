/** One call of POST /api/decisions/run, which has an error body of its own. */
import { useEffect, useRef, useState } from 'react';
import type { DecisionBody, DecisionErrorBody } from '../../../src/console/contract.ts';
import { reportReachable, reportSessionLost } from '../../api/client.ts';

/** As the gateway says it, or as this page does where the gateway said nothing, and so named no request. */
export type DecisionFailure = Omit<DecisionErrorBody['error'], 'request_id'> &
  Readonly<{ request_id?: string }>;

export type DecisionOutcome =
  | Readonly<{ kind: 'answered'; body: DecisionBody }>
  | Readonly<{ kind: 'failed'; failure: DecisionFailure; failedAt: number }>;

export async function runDecision(body: string, signal: AbortSignal): Promise<DecisionOutcome> {
  let response: Response;
  try {
    response = await fetch('/api/decisions/run', {
      method: 'POST',
      credentials: 'same-origin',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body,
      signal,
    });
  } catch (error) {
    if (signal.aborted) throw error;
    reportReachable(false);
    const message = 'The gateway cannot be reached.';
    return failed({ type: 'network_error', status: 0, message });
  }
  reportReachable(true);
  const answer: unknown = await response.json().catch(() => null);
  if (response.ok && answer !== null) return { kind: 'answered', body: answer as DecisionBody };
  const { error } = (answer ?? {}) as { error?: DecisionFailure };
  if (response.status === 401 && error?.type === 'authentication_error') reportSessionLost();
  return failed(
    error ?? {
      type: 'unknown_error',
      status: response.status,
      message: `The gateway answered with status ${response.status}.`,
    },
  );
}

function failed(failure: DecisionFailure): DecisionOutcome {
  return { kind: 'failed', failure, failedAt: Date.now() };
}

/** One decision at a time: running, cancelled, or done. */
export type DecisionRun = Readonly<{
  outcome: DecisionOutcome | null;
  /** What the outcome is about. */
  decidedBody: string | null;
  isRunning: boolean;
  run: (body: string) => void;
  cancel: () => void;
}>;

export function useDecision(): DecisionRun {
  const [outcome, setOutcome] = useState<DecisionOutcome | null>(null);
  const [decidedBody, setDecidedBody] = useState<string | null>(null);
  const [isRunning, setRunning] = useState(false);
  const current = useRef<AbortController | null>(null);
  useEffect(() => () => current.current?.abort(), []);

  const run = (body: string) => {
    const controller = new AbortController();
    current.current = controller;
    setRunning(true);
    runDecision(body, controller.signal)
      .then((next) => {
        if (current.current !== controller) return;
        setOutcome(next);
        setDecidedBody(body);
      })
      // Only a cancelled run throws, and who cancelled knows it.
      .catch(() => {})
      .finally(() => {
        if (current.current === controller) setRunning(false);
      });
  };
  return { outcome, decidedBody, isRunning, run, cancel: () => current.current?.abort() };
}

/** What each failure of a decision means for the person who ran it, and what to do about it. */
const advice: ReadonlyMap<string, string> = new Map([
  ['invalid_json', 'Load this page again, and run the decision once more.'],
  ['validation_error', 'Correct what the message names, and run the decision again.'],
  ['authentication_error', 'Your session has ended. Sign in again.'],
  [
    'invalid_origin',
    'Open the dashboard at its own address. If this is it, the operator must set PUBLIC_URL to that address.',
  ],
  ['request_too_large', 'Shorten the state or ask fewer questions: both together may be 256 KB.'],
  ['rate_limit', 'The provider takes no more requests at the moment.'],
  ['provider_authentication_error', 'The operator of this gateway must check DECISIONS_API_KEY.'],
  ['connection_error', 'Try again. If it stays like this, the operator must check DECISIONS_BASE_URL.'],
  ['invalid_response', 'Try again, or word the questions differently.'],
  [
    'not_configured',
    'The operator must set DECISIONS_BASE_URL, DECISIONS_API_KEY and DECISIONS_MODEL, or else DECISIONS_CHAT_MODEL with the ID of a chat model that has structured output.',
  ],
  ['authentication_unavailable', 'Try again in a moment.'],
  ['timeout', 'Try again, or ask fewer questions at once.'],
  ['provider_overloaded', 'Three attempts were made. Try again in a few minutes.'],
  ['network_error', 'Check your connection and try again.'],
]);

const inAnyOtherCase =
  'Try again. If it stays like this, name the request ID to the operator of this gateway.';

export function adviceForFailure(type: string, status: number): string {
  if (type === 'provider_error' && status === 422) return 'Word the questions or the criteria differently.';
  return advice.get(type) ?? inAnyOtherCase;
}

/** How long the provider asked to wait, from now on; 0 when it is over. */
export function secondsLeft(failedAtMs: number, retryAfterSeconds: number, nowMs: number): number {
  return Math.max(0, Math.ceil((failedAtMs + retryAfterSeconds * 1000 - nowMs) / 1000));
}
