/** Runs decisions with POST /api/decisions/run, whose error bodies differ from those of the other endpoints. */
import { useEffect, useRef, useState } from 'react';
import type { DecisionBody, DecisionErrorBody } from '../../../src/console/contract.ts';
import { reportReachable, reportSessionLost } from '../../api/client.ts';

/** An error of the gateway or, if there was no response, one of this page, which has no request ID. */
export type DecisionFailure = Omit<DecisionErrorBody['error'], 'request_id'> &
  Readonly<{ request_id?: string }>;

type DecisionOutcome =
  | Readonly<{ kind: 'answered'; body: DecisionBody }>
  | Readonly<{ kind: 'failed'; failure: DecisionFailure; failedAt: number }>;

async function runDecision(body: string, signal: AbortSignal): Promise<DecisionOutcome> {
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
      message: `The gateway responded with status ${response.status}.`,
    },
  );
}

function failed(failure: DecisionFailure): DecisionOutcome {
  return { kind: 'failed', failure, failedAt: Date.now() };
}

export type DecisionRun = Readonly<{
  outcome: DecisionOutcome | null;
  /** The body that the outcome belongs to. */
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
      // Only a cancelled run throws.
      .catch(() => {})
      .finally(() => {
        if (current.current === controller) setRunning(false);
      });
  };
  return { outcome, decidedBody, isRunning, run, cancel: () => current.current?.abort() };
}

/** What to do about each kind of failure. */
const advice: ReadonlyMap<string, string> = new Map([
  ['invalid_json', 'Reload this page and run the decision again.'],
  ['validation_error', 'Fix what the message names and run the decision again.'],
  ['authentication_error', 'Your session has ended. Sign in again.'],
  [
    'invalid_origin',
    'Open the dashboard at its own address. If you already did, the operator has to set PUBLIC_URL to that address.',
  ],
  ['request_too_large', 'Shorten the state or ask fewer questions: together they are limited to 256 KB.'],
  ['rate_limit', 'The provider is limiting requests.'],
  ['provider_authentication_error', 'The operator of this gateway has to check DECISIONS_API_KEY.'],
  ['connection_error', 'Try again. If the problem persists, the operator has to check DECISIONS_BASE_URL.'],
  ['invalid_response', 'Try again, or rephrase the questions.'],
  [
    'not_configured',
    'The operator has to set DECISIONS_BASE_URL, DECISIONS_API_KEY and DECISIONS_MODEL, or DECISIONS_CHAT_MODEL to the ID of a chat model with structured output.',
  ],
  ['authentication_unavailable', 'Try again in a moment.'],
  ['timeout', 'Try again, or ask fewer questions at once.'],
  ['provider_overloaded', 'Three attempts were made. Try again in a few minutes.'],
  ['network_error', 'Check your connection and try again.'],
]);

const defaultAdvice =
  'Try again. If the problem persists, send the request ID to the operator of this gateway.';

export function adviceForFailure(type: string, status: number): string {
  if (type === 'provider_error' && status === 422) return 'Rephrase the questions or the criteria.';
  return advice.get(type) ?? defaultAdvice;
}

/** How much of the wait that the provider asked for is left; 0 when it is over. */
export function secondsLeft(failedAtMs: number, retryAfterSeconds: number, nowMs: number): number {
  return Math.max(0, Math.ceil((failedAtMs + retryAfterSeconds * 1000 - nowMs) / 1000));
}
