/** One call of POST /api/decisions/run, which has an error body of its own. */
import type { DecisionBody, DecisionErrorBody } from '../../../src/console/contract.ts';
import { reportSessionLost } from '../../api/client.ts';
import { reportReachable } from '../../api/reachability.ts';

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
