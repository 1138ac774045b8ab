/**
 * One call to a decision provider. Unlike calls for customers it has no timeouts of its own, because all attempts share one
 * deadline, and it is aborted when the client leaves, because nobody is billed for it.
 */
import { readRetryAfter } from '../lib/retry-after.ts';
import { isConnectFailure, post, readErrorDetails, readText, UnreadableError } from '../providers/http.ts';
import { codeOf, machineShortage } from '../providers/machine-shortage.ts';
import type { UpstreamRequest } from '../providers/upstream.ts';
import { parseJson } from '../providers/wire.ts';
import { type AnsweredCall, DecisionError, type DecisionErrorName, type UpstreamCall } from './errors.ts';

const maxResponseBytes = 4_194_304;

/** Throws a DecisionError unless the response is a success with JSON. `provider` is the name that clients see. */
export async function exchange(
  request: UpstreamRequest,
  provider: string,
  signal: AbortSignal,
): Promise<Readonly<{ body: unknown; upstream: AnsweredCall }>> {
  const response = await send(request, provider, signal);
  const upstream = { provider, status: response.status, requestId: requestIdIn(response.headers) };
  if (!response.ok) throw await errorOf(request, response, upstream);
  const text = await readText(response, maxResponseBytes, null).catch((error: unknown) => {
    throw error instanceof UnreadableError
      ? new DecisionError('invalid_response', { upstream })
      : broken(upstream, signal);
  });
  try {
    return { body: parseJson(text), upstream };
  } catch {
    throw new DecisionError('invalid_response', { upstream });
  }
}

async function send(request: UpstreamRequest, provider: string, signal: AbortSignal): Promise<Response> {
  try {
    return await post(request, signal);
  } catch (error) {
    const code = codeOf(error);
    const upstream = { provider, status: null, requestId: null };
    throw machineShortage(code) ?? broken(upstream, signal, isConnectFailure(code));
  }
}

/** Either the signal aborted the call, or the connection failed. */
function broken(upstream: UpstreamCall, signal: AbortSignal, isUnreached = false): DecisionError {
  if (signal.aborted) return new DecisionError('timeout', { upstream });
  return new DecisionError('connection_error', { upstream, isUnreached });
}

async function errorOf(
  request: UpstreamRequest,
  response: Response,
  upstream: UpstreamCall,
): Promise<DecisionError> {
  const details = await readErrorDetails(request, response, null);
  await discard(response);
  const reason =
    details?.code === 'provider_authentication_error' ? details.code : reasonOfStatus(response.status);
  const retryAfterSeconds =
    details?.retryAfterSeconds ?? readRetryAfter(response.headers.get('retry-after'), Date.now());
  return new DecisionError(reason, {
    upstream,
    retryAfterSeconds: reason === 'rate_limit' ? retryAfterSeconds : null,
    setback: details?.setback ?? null,
  });
}

function reasonOfStatus(status: number): DecisionErrorName {
  if (status === 401 || status === 403) return 'provider_authentication_error';
  if (status === 422) return 'request_rejected';
  if (status === 429) return 'rate_limit';
  if (status === 529) return 'provider_overloaded';
  return 'provider_error';
}

/** Frees the connection. */
async function discard({ body }: Response): Promise<void> {
  if (body !== null && !body.locked) await body.cancel().catch(() => undefined);
}

/** The provider's ID of the call. It is shown to users, so only what looks like an ID is passed on. */
function requestIdIn(headers: Headers): string | null {
  const id = headers.get('x-request-id') ?? headers.get('request-id') ?? '';
  return /^[A-Za-z0-9][\w.:/+=@-]{0,199}$/.test(id) ? id : null;
}
