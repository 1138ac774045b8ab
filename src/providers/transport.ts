/**
 * Talks HTTP to providers, for every adapter: sends, watches the deadlines, bounds what it reads, and turns whatever
 * goes wrong into the codes of the catalogue. Nothing a provider says in a failure is repeated.
 */
import type { ErrorCode } from '../errors.ts';
import { SseParser } from '../lib/sse.ts';
import { Call, type EarlyEnd, type Link } from './call.ts';
import { codeOf, machineShortage } from './machine-shortage.ts';
import { EndedByGateway, ProviderError, type UpstreamRequest } from './upstream.ts';
import { parseJson } from './wire.ts';

const mostAnswerBytes = 33_554_432;
/** An answer up to this long is read in one go; it is under way already when its length is known. */
const shortAnswerBytes = 1_048_576;
const lineFeed = 10;
/** Stateless between whole texts, so one serves every answer. */
const strictDecoder = new TextDecoder('utf-8', { fatal: true });

/** Posts and reads a whole JSON answer. `status` is the provider's, always a success. */
export async function postForJson(
  request: UpstreamRequest,
  link: Link,
): Promise<{ status: number; body: unknown }> {
  const call = new Call(link);
  try {
    const response = await send(request, call);
    if (isEncoded(response)) throw new ProviderError('provider_unknown_error', response.status);
    const body = readJson(await readText(response, call), response.status);
    call.close();
    return { status: response.status, body };
  } catch (error) {
    call.end();
    throw error;
  }
}

export type UpstreamStream<Event> = Readonly<{
  status: number;
  /** What the next events mean, possibly nothing; null when the stream has ended. */
  next: () => Promise<readonly Event[] | null>;
  /** Stops the provider if it still sends. Always to be called. */
  close: () => void;
}>;

/** What the events of a stream mean. */
export type EventReader<Event> = Readonly<{
  read: (data: string) => readonly Event[];
  /** Stands for an event that was longer than any has to be, and was passed over. */
  tooLong: () => Event;
}>;

/** Posts and opens a stream of events. */
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
    throw error;
  }
}

async function send({ url, headers, body, readRefusal }: UpstreamRequest, call: Call): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      decompress: false,
      signal: call.controller.signal,
    });
  } catch (error) {
    throw transportFailure(error, call, null);
  }
  call.answered();
  if (response.status >= 200 && response.status < 300) return response;
  const told =
    readRefusal === undefined ? null : readRefusal(response.status, await readShort(response, call));
  const failure = new ProviderError(
    told?.code ?? codeOfStatus(response.status),
    response.status,
    told?.retryAfterSeconds ?? retryAfterSeconds(response),
  );
  // What else the provider says of its failure is of no use to anyone; reading it would keep the connection busy.
  call.controller.abort();
  throw failure;
}

const mostRefusalBytes = 65_536;

/** The JSON of a refusal; null when it is longer than one has to be, does not come in time, or is none. */
async function readShort(response: Response, call: Call): Promise<unknown> {
  const pieces: Uint8Array[] = [];
  let count = 0;
  try {
    call.awaitPiece();
    for await (const bytes of response.body ?? []) {
      count += bytes.length;
      if (count > mostRefusalBytes) return null;
      pieces.push(bytes);
      call.awaitPiece();
    }
    return parseJson(strictDecoder.decode(Buffer.concat(pieces)));
  } catch {
    return null;
  }
}

export function codeOfStatus(status: number): ErrorCode {
  if (status === 401 || status === 403) return 'provider_authentication_error';
  if (status === 408 || status === 504) return 'provider_timeout';
  if (status === 429) return 'provider_rate_limit';
  if (status >= 500) return 'provider_unavailable';
  if (status >= 400) return 'provider_bad_request';
  return 'provider_unknown_error';
}

/** Nobody could be connected to. */
const unreachable = new Set([
  'ConnectionRefused',
  'ECONNREFUSED',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'ENETDOWN',
  'EHOSTDOWN',
  'FailedToOpenSocket',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EAI_FAIL',
  'DNSLookupFailed',
]);

/** The connection broke off, possibly because of what was sent over it. */
const broken = new Set(['ConnectionClosed', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT']);

/** TLS was refused, or its certificate was. Nothing of the request has been sent by then. */
const isOfTls = /^(EPROTO$|ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

/** Whether the failure of a fetch, by its code, means that there never was a connection. */
export function isOfConnecting(code: string): boolean {
  return unreachable.has(code) || isOfTls.test(code);
}

function transportFailure(error: unknown, call: Call, status: number | null): ProviderError {
  if (error instanceof ProviderError) return error;
  if (call.endedBy !== null) return endedEarly(call.endedBy, status);
  const code = codeOf(error);
  const shortage = machineShortage(code);
  if (shortage !== null) return shortage;
  const isUnavailable = unreachable.has(code) || broken.has(code);
  const failure = isUnavailable ? 'provider_unavailable' : 'provider_unknown_error';
  return new ProviderError(failure, status, null, false, isOfConnecting(code));
}

function endedEarly(reason: EarlyEnd, status: number | null): ProviderError {
  if (reason === 'total' || reason === 'shutdown') return new EndedByGateway('provider_timeout', status);
  return new ProviderError('provider_timeout', status, null, false, reason === 'unconnected');
}

/** What is beyond a day, or no time at all, is no advice. */
const longestRetryAfterSeconds = 86_400;

function retryAfterSeconds(response: Response): number | null {
  const text = response.headers.get('retry-after') ?? '';
  const at = /^\d{1,9}$/.test(text) ? Date.now() + Number(text) * 1000 : Date.parse(text);
  const seconds = Math.max(0, Math.ceil((at - Date.now()) / 1000));
  return seconds <= longestRetryAfterSeconds ? seconds : null;
}

async function readText(response: Response, call: Call): Promise<string> {
  try {
    // Most answers say how long they are; the others are counted while they are read. One that is sent in chunks may
    // be of any length, whatever it says.
    const announced = response.headers.has('transfer-encoding') ? '' : response.headers.get('content-length');
    const length = /^\d{1,9}$/.test(announced ?? '') ? Number(announced) : Number.POSITIVE_INFINITY;
    call.awaitPiece();
    return length <= shortAnswerBytes
      ? strictDecoder.decode(await response.bytes())
      : await readCounted(response, call);
  } catch (error) {
    throw transportFailure(error, call, response.status);
  }
}

async function readCounted(response: Response, call: Call): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let text = '';
  let count = 0;
  for await (const bytes of response.body ?? []) {
    count += bytes.length;
    if (count > mostAnswerBytes) throw new ProviderError('provider_unknown_error', response.status);
    text += decoder.decode(bytes, { stream: true });
    call.awaitPiece();
  }
  return text + decoder.decode();
}

function readJson(text: string, status: number): unknown {
  try {
    return parseJson(text);
  } catch {
    throw new ProviderError('provider_unknown_error', status);
  }
}

function isEventStream(response: Response): boolean {
  return (response.headers.get('content-type') ?? '').toLowerCase().startsWith('text/event-stream');
}

/** What is compressed would escape the bounds on what is read; it was not asked for. */
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
  /** Up to the first bytes the deadline is that of the whole call's first byte. */
  let hasBegun = false;

  /**
   * The provider's time runs only while it is waited for, not while a slow client keeps us from reading. A piece that
   * completes no line gives it no more time: a line that drips in byte by byte is as good as silence.
   */
  async function next(): Promise<readonly Event[] | null> {
    if (failure !== null) throw failure;
    if (hasBegun) call.awaitPiece();
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
      if (call.endedBy === 'shutdown') throw new EndedByGateway('streaming_error', status);
      throw endedEarly(call.endedBy, status);
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

/** An adapter does not know the status that came with what it reads. */
export function withStatus(error: unknown, status: number): unknown {
  return error instanceof ProviderError && error.upstreamStatus === null
    ? new ProviderError(error.code, status, error.retryAfterSeconds, error.isProvoked, error.isUnreached)
    : error;
}
