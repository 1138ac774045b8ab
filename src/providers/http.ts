/**
 * The HTTP client for providers: sends one request and reads bodies within bounds. Except for the bodies of errors it has no
 * timeouts of its own: callers pass a signal that ends the call.
 */
import { readBody } from '../lib/read-body.ts';
import { within } from '../lib/within.ts';
import type { ErrorDetails, UpstreamRequest } from './upstream.ts';
import { parseJson } from './wire.ts';

const maxErrorBytes = 65_536;
/** It usually comes with its status, and another provider may be waiting for its turn. */
const maxErrorMs = 2_000;
/** Those that formats are ambiguous about: what is wrong, and what is used up. */
const ambiguousStatuses: ReadonlySet<number> = new Set([400, 429]);
/** A response up to this size is read in one go. */
const shortBytes = 1_048_576;

/** Stateless between complete texts, so one decoder serves every response. */
const strictDecoder = new TextDecoder('utf-8', { fatal: true });

/** Follows no redirect and decompresses nothing, because inflated bytes would escape the bounds on what is read. */
export function post({ url, headers, body }: UpstreamRequest, signal: AbortSignal): Promise<Response> {
  return fetch(url, { method: 'POST', headers, body, redirect: 'manual', decompress: false, signal });
}

/** The response is too large, or not text. */
export class UnreadableError extends Error {
  override readonly name = 'UnreadableError';
}

/** Gives the provider time for the next chunk. */
type Clock = Readonly<{ awaitChunk: () => void }>;

/** Throws an UnreadableError, or whatever broke the connection. */
export async function readText(response: Response, maxBytes: number, clock: Clock | null): Promise<string> {
  clock?.awaitChunk();
  const announced = announcedBytes(response);
  if (announced <= Math.min(maxBytes, shortBytes)) return decode(await response.bytes());
  const bytes = await readBody(response.body, {
    expectedBytes: Math.min(maxBytes, announced),
    onChunk: (sizeBytes) => {
      if (sizeBytes > maxBytes) throw new UnreadableError(`The response exceeds ${maxBytes} bytes.`);
      clock?.awaitChunk();
    },
    pace: null,
  });
  return decode(bytes);
}

/** Infinity when it is unknown: a chunked response may have any length, whatever its header states. */
function announcedBytes({ headers }: Response): number {
  const header = headers.has('transfer-encoding') ? '' : (headers.get('content-length') ?? '');
  return /^\d{1,9}$/.test(header) ? Number(header) : Number.POSITIVE_INFINITY;
}

function decode(bytes: Uint8Array): string {
  try {
    return strictDecoder.decode(bytes);
  } catch {
    throw new UnreadableError('The response is not UTF-8.');
  }
}

/** What the body of an error response adds to its status. It is not even read unless the format needs it. */
export async function readErrorDetails(
  { readError }: UpstreamRequest,
  response: Response,
  clock: Clock | null,
): Promise<ErrorDetails | null> {
  if (readError === undefined || !ambiguousStatuses.has(response.status)) return null;
  let body: unknown = null;
  try {
    body = parseJson(await within(maxErrorMs, readText(response, maxErrorBytes, clock)));
  } catch {
    // Without a readable body the status has to do.
  }
  return readError(response.status, body);
}

/** No connection could be made. */
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

/** The connection broke, possibly because of what was sent over it. */
const broken = new Set(['ConnectionClosed', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT']);

/** The TLS handshake or the certificate was rejected. Nothing of the request has been sent yet. */
const isTlsFailure = /^(EPROTO$|ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

/** Whether the code of a failed fetch means that there never was a connection. */
export function isConnectFailure(code: string): boolean {
  return unreachable.has(code) || isTlsFailure.test(code);
}

/** Whether it means that the provider could not be reached, or that the connection was lost. */
export function isUnavailable(code: string): boolean {
  return unreachable.has(code) || broken.has(code);
}
