/**
 * Talks HTTP to providers, for every adapter: sends, watches the deadlines, bounds what it reads, and turns whatever
 * goes wrong into the codes of the catalogue. Nothing a provider says in a failure is repeated.
 */
import type { ErrorCode } from '../errors.ts';
import { type Deadline, Deadlines } from '../lib/deadlines.ts';
import { SseParser } from '../lib/sse.ts';
import { ProviderError, type UpstreamRequest } from './chat.ts';

export type CallDeadlines = Readonly<{ firstByteMs: number; idleMs: number; totalMs: number }>;

const mostAnswerBytes = 33_554_432;
const deadlines = new Deadlines();

/** Posts and reads a whole JSON answer. `status` is the provider's, always a success. */
export async function postForJson(
  request: UpstreamRequest,
  limits: CallDeadlines,
  signal: AbortSignal | null,
): Promise<{ status: number; body: unknown }> {
  const call = openCall(limits, signal);
  try {
    const response = await send(request, call);
    call.deadline.extend(limits.totalMs);
    const text = await readText(response, call);
    return { status: response.status, body: parseJson(text, response.status) };
  } finally {
    call.close();
  }
}

export type UpstreamStream = Readonly<{
  status: number;
  /** The data of the next events, at least one; null when the stream has ended. */
  next: () => Promise<readonly string[] | null>;
  /** Stops the provider if it still sends. Always to be called. */
  close: () => void;
}>;

/** Posts and opens a stream of events. */
export async function postForStream(
  request: UpstreamRequest,
  limits: CallDeadlines,
  signal: AbortSignal | null,
): Promise<UpstreamStream> {
  const call = openCall(limits, signal);
  try {
    const response = await send(request, call);
    if (!isEventStream(response) || response.body === null)
      throw new ProviderError('provider_stream_error', response.status);
    return readEvents(response.status, response.body, limits, call);
  } catch (error) {
    call.close();
    throw error;
  }
}

/** One call: what can end it early, and why it ended. */
type Call = {
  readonly controller: AbortController;
  readonly deadline: Deadline;
  isTimedOut: boolean;
  close: () => void;
};

function openCall(limits: CallDeadlines, signal: AbortSignal | null): Call {
  const controller = new AbortController();
  const expire = () => {
    call.isTimedOut = true;
    controller.abort();
  };
  const deadline = deadlines.start(limits.firstByteMs, expire);
  const total = deadlines.start(limits.totalMs, expire);
  const abort = () => controller.abort();
  signal?.addEventListener('abort', abort);
  const call: Call = {
    controller,
    deadline,
    isTimedOut: false,
    close: () => {
      deadline.clear();
      total.clear();
      signal?.removeEventListener('abort', abort);
    },
  };
  return call;
}

async function send({ url, headers, body }: UpstreamRequest, call: Call): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal: call.controller.signal,
    });
  } catch (error) {
    throw transportFailure(error, call, null);
  }
  if (response.status >= 200 && response.status < 300) return response;
  const failure = new ProviderError(
    codeOfStatus(response.status),
    response.status,
    retryAfterSeconds(response),
  );
  // What the provider says of its failure is of no use to anyone but itself; reading it would keep the connection busy.
  call.controller.abort();
  throw failure;
}

export function codeOfStatus(status: number): ErrorCode {
  if (status === 401 || status === 403) return 'provider_authentication_error';
  if (status === 408 || status === 504) return 'provider_timeout';
  if (status === 429) return 'provider_rate_limit';
  if (status >= 500) return 'provider_unavailable';
  if (status >= 400) return 'provider_bad_request';
  return 'provider_unknown_error';
}

const unreachable = new Set([
  'ConnectionRefused',
  'ConnectionClosed',
  'ECONNRESET',
  'ECONNREFUSED',
  'FailedToOpenSocket',
  'ENOTFOUND',
  'DNSLookupFailed',
]);

function transportFailure(error: unknown, call: Call, status: number | null): ProviderError {
  if (error instanceof ProviderError) return error;
  if (call.isTimedOut) return new ProviderError('provider_timeout', status);
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return new ProviderError(unreachable.has(code) ? 'provider_unavailable' : 'provider_unknown_error', status);
}

function retryAfterSeconds(response: Response): number | null {
  const text = response.headers.get('retry-after') ?? '';
  if (/^\d{1,6}$/.test(text)) return Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - Date.now()) / 1000));
}

async function readText(response: Response, call: Call): Promise<string> {
  try {
    // Most answers say how long they are; the others are counted while they are read.
    const length = Number(response.headers.get('content-length') ?? Number.NaN);
    if (length <= mostAnswerBytes) return await response.text();
    return await readCounted(response);
  } catch (error) {
    throw transportFailure(error, call, response.status);
  }
}

async function readCounted(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let count = 0;
  for await (const bytes of response.body ?? []) {
    count += bytes.length;
    if (count > mostAnswerBytes) throw new ProviderError('provider_unknown_error', response.status);
    text += decoder.decode(bytes, { stream: true });
  }
  return text + decoder.decode();
}

function parseJson(text: string, status: number): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ProviderError('provider_unknown_error', status);
  }
}

function isEventStream(response: Response): boolean {
  return (response.headers.get('content-type') ?? '').toLowerCase().startsWith('text/event-stream');
}

function readEvents(
  status: number,
  body: ReadableStream<Uint8Array>,
  limits: CallDeadlines,
  call: Call,
): UpstreamStream {
  const reader = body.getReader();
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const parser = new SseParser();

  /** Until the first event the deadline is that of the first byte; from then on it moves with every read. */
  async function next(): Promise<readonly string[] | null> {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw streamFailure(error);
      });
      if (done) return null;
      call.deadline.extend(limits.idleMs);
      const events = parse(value);
      if (events.length > 0) return events;
    }
  }

  function parse(bytes: Uint8Array): string[] {
    try {
      return parser.push(decoder.decode(bytes, { stream: true }));
    } catch {
      throw new ProviderError('malformed_stream_chunk', status);
    }
  }

  function streamFailure(error: unknown): ProviderError {
    if (call.isTimedOut) return new ProviderError('provider_timeout', status);
    return error instanceof ProviderError ? error : new ProviderError('provider_stream_error', status);
  }

  return {
    status,
    next,
    close: () => {
      call.close();
      call.controller.abort();
    },
  };
}
