/**
 * Calls providers for customers, for every adapter: it sends, watches the deadlines, bounds what it reads, and turns every
 * failure into one of the gateway's error codes. The text of a provider's error is never passed on.
 */
import type { ErrorCode } from '../errors.ts';
import { readRetryAfter } from '../lib/retry-after.ts';
import { Call, type Link } from './call.ts';
import type { EventReader } from './event-decoder.ts';
import { EventStream } from './event-stream.ts';
import { isConnectFailure, isUnavailable, post, readErrorDetails, readText } from './http.ts';
import { codeOf, machineShortage } from './machine-shortage.ts';
import { ProviderError, type UpstreamRequest, withStatus } from './upstream.ts';
import { parseJson } from './wire.ts';

const maxResponseBytes = 33_554_432;
/** A longer `Retry-After` is ignored. */
const maxRetryAfterSeconds = 86_400;

/** Posts and reads a JSON response. `status` is the provider's, always a success. */
export async function postForJson(
  request: UpstreamRequest,
  link: Link,
): Promise<{ status: number; body: unknown }> {
  const call = new Call(link, request.cancellation);
  let status: number | null = null;
  try {
    const response = await send(request, call);
    status = response.status;
    if (isEncoded(response)) throw new ProviderError('provider_unknown_error', { upstreamStatus: status });
    const body = parseJson(await readText(response, maxResponseBytes, call));
    call.close();
    return { status, body };
  } catch (error) {
    call.end();
    throw transportFailure(error, call, status, false);
  }
}

/** Posts and reads the answer, whose JSON `read` turns into a value or rejects with a ProviderError. */
export async function postForAnswer<Answer>(
  request: UpstreamRequest,
  link: Link,
  read: (body: unknown) => Answer,
): Promise<{ status: number; answer: Answer }> {
  const { status, body } = await postForJson(request, link);
  try {
    return { status, answer: read(body) };
  } catch (error) {
    throw withStatus(error, status);
  }
}

/** Posts and opens a stream. */
export async function postForStream<Event>(
  request: UpstreamRequest,
  link: Link,
  reader: EventReader<Event>,
): Promise<EventStream<Event>> {
  const call = new Call(link, request.cancellation);
  try {
    const response = await send(request, call);
    if (!isEventStream(response) || isEncoded(response) || response.body === null) {
      throw new ProviderError('provider_stream_error', { upstreamStatus: response.status });
    }
    return new EventStream(response.status, response.body, call, reader);
  } catch (error) {
    call.end();
    throw transportFailure(error, call, null, true);
  }
}

async function send(request: UpstreamRequest, call: Call): Promise<Response> {
  const response = await post(request, call.controller.signal);
  call.answered();
  if (response.ok) return response;
  const details = await readErrorDetails(request, response, call);
  throw new ProviderError(details?.code ?? codeOfStatus(response.status), {
    upstreamStatus: response.status,
    retryAfterSeconds:
      details?.retryAfterSeconds ??
      readRetryAfter(response.headers.get('retry-after'), Date.now(), maxRetryAfterSeconds),
    setback: details?.setback ?? null,
  });
}

export function codeOfStatus(status: number): ErrorCode {
  if (status === 401 || status === 403) return 'provider_authentication_error';
  if (status === 408 || status === 504) return 'provider_timeout';
  if (status === 429) return 'provider_rate_limit';
  if (status >= 500) return 'provider_unavailable';
  if (status >= 400) return 'provider_bad_request';
  return 'provider_unknown_error';
}

function transportFailure(
  error: unknown,
  call: Call,
  status: number | null,
  isStream: boolean,
): ProviderError {
  if (error instanceof ProviderError) return error;
  const earlyEnd = call.earlyEnd(status, isStream);
  if (earlyEnd !== null) return earlyEnd;
  const code = codeOf(error);
  const shortage = machineShortage(code);
  if (shortage !== null) return shortage;
  const failure = isUnavailable(code) ? 'provider_unavailable' : 'provider_unknown_error';
  return new ProviderError(failure, {
    upstreamStatus: status,
    isUnreached: isConnectFailure(code),
    reason: systemCode(code),
  });
}

/** Null unless it looks like the name of an error, so that nothing else gets into the log. */
function systemCode(code: string): string | null {
  return /^[A-Z]\w{1,39}$/.test(code) ? code : null;
}

function isEventStream(response: Response): boolean {
  return (response.headers.get('content-type') ?? '').toLowerCase().startsWith('text/event-stream');
}

/** A compressed body would escape the bounds on what is read. None was asked for. */
function isEncoded(response: Response): boolean {
  const encoding = response.headers.get('content-encoding');
  return encoding !== null && encoding.toLowerCase() !== 'identity';
}
