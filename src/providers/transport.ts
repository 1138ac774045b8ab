/**
 * Calls providers for customers, for every adapter: it sends, watches the deadlines, bounds what it reads, and turns every
 * failure into one of the gateway's error codes. The text of a provider's error is never passed on.
 */
import type { ErrorCode } from '../errors.ts';
import { readRetryAfter } from '../lib/retry-after.ts';
import { SseParser } from '../lib/sse.ts';
import { Call, type EarlyEnd, type Link } from './call.ts';
import { isConnectFailure, isUnavailable, post, readErrorDetails, readText } from './http.ts';
import { codeOf, machineShortage } from './machine-shortage.ts';
import { EndedByGateway, EndedByShutdown, ProviderError, type UpstreamRequest } from './upstream.ts';
import { parseJson } from './wire.ts';

const maxResponseBytes = 33_554_432;
/** A longer `Retry-After` is ignored. */
const maxRetryAfterSeconds = 86_400;
const lineFeed = 10;

/** Posts and reads a JSON response. `status` is the provider's, always a success. */
export async function postForJson(
  request: UpstreamRequest,
  link: Link,
): Promise<{ status: number; body: unknown }> {
  const call = new Call(link);
  let status: number | null = null;
  try {
    const response = await send(request, call);
    status = response.status;
    if (isEncoded(response)) throw new ProviderError('provider_unknown_error', status);
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

export type UpstreamStream<Event> = Readonly<{
  status: number;
  /** The next events, possibly none; null at the end of the stream. */
  next: () => Promise<readonly Event[] | null>;
  /** Stops the provider if it still sends. Always to be called. */
  close: () => void;
}>;

/** Turns the data of a stream into events. */
type EventReader<Event> = Readonly<{
  read: (data: string) => readonly Event[];
  /** Stands for data that was too long and was skipped. */
  tooLong: () => Event;
}>;

/** Posts and opens a stream. */
export async function postForStream<Event>(
  request: UpstreamRequest,
  link: Link,
  reader: EventReader<Event>,
): Promise<UpstreamStream<Event>> {
  const call = new Call(link);
  try {
    const response = await send(request, call);
    if (!isEventStream(response) || isEncoded(response) || response.body === null) {
      throw new ProviderError('provider_stream_error', response.status);
    }
    return readEvents(response.status, response.body, call, reader);
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
  throw new ProviderError(
    details?.code ?? codeOfStatus(response.status),
    response.status,
    details?.retryAfterSeconds ??
      readRetryAfter(response.headers.get('retry-after'), Date.now(), maxRetryAfterSeconds),
  );
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
  if (call.endedBy !== null) return endedEarly(call.endedBy, status, isStream);
  const code = codeOf(error);
  const shortage = machineShortage(code);
  if (shortage !== null) return shortage;
  const failure = isUnavailable(code) ? 'provider_unavailable' : 'provider_unknown_error';
  return new ProviderError(failure, status, null, false, isConnectFailure(code));
}

function endedEarly(reason: EarlyEnd, status: number | null, isStream: boolean): ProviderError {
  if (reason === 'shutdown') return new EndedByShutdown(isStream, status);
  if (reason === 'total') return new EndedByGateway('provider_timeout', status);
  return new ProviderError('provider_timeout', status, null, false, reason === 'unconnected');
}

function isEventStream(response: Response): boolean {
  return (response.headers.get('content-type') ?? '').toLowerCase().startsWith('text/event-stream');
}

/** A compressed body would escape the bounds on what is read. None was asked for. */
function isEncoded(response: Response): boolean {
  const encoding = response.headers.get('content-encoding');
  return encoding !== null && encoding.toLowerCase() !== 'identity';
}

function readEvents<Event>(
  status: number,
  body: ReadableStream<Uint8Array>,
  call: Call,
  { read, tooLong }: EventReader<Event>,
): UpstreamStream<Event> {
  const reader = body.getReader();
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const parser = new SseParser();
  let failure: unknown = null;
  /** Until the first bytes arrive, the deadline for the first byte applies. */
  let hasBegun = false;

  /**
   * The provider's clock runs only while we wait for it, not while a slow client keeps us from reading. A piece that
   * completes no line does not extend its time: a line that drips in byte by byte is as good as silence.
   */
  async function next(): Promise<readonly Event[] | null> {
    if (failure !== null) throw failure;
    if (hasBegun) call.awaitChunk();
    for (;;) {
      const { done, value } = await nextBytes();
      hasBegun = true;
      if (done) return null;
      const events = take(value);
      if (events.length === 0 && !value.includes(lineFeed)) continue;
      call.rest();
      return events;
    }
  }

  async function nextBytes() {
    try {
      return await reader.read();
    } catch {
      if (call.endedBy === null) throw new ProviderError('provider_stream_error', status);
      throw endedEarly(call.endedBy, status, true);
    }
  }

  function take(bytes: Uint8Array): readonly Event[] {
    const events: Event[] = [];
    try {
      for (const data of parse(bytes)) {
        if (data === null) events.push(tooLong());
        else for (const event of read(data)) events.push(event);
      }
    } catch (error) {
      // What came before a failure in the same packet is still passed on; the failure follows.
      failure = withStatus(error, status);
      if (events.length === 0) throw failure;
    }
    return events;
  }

  function parse(bytes: Uint8Array): (string | null)[] {
    try {
      return parser.push(decoder.decode(bytes, { stream: true }));
    } catch {
      throw new ProviderError('malformed_stream_chunk', status);
    }
  }

  return { status, next, close: () => call.end() };
}

/** Adds the status to an error of an adapter, which does not know it. */
export function withStatus(error: unknown, status: number): unknown {
  return error instanceof ProviderError && error.upstreamStatus === null
    ? new ProviderError(error.code, status, error.retryAfterSeconds, error.isProvoked, error.isUnreached)
    : error;
}
