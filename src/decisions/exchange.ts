/**
 * One call to whoever decides. Unlike the calls of providers/transport.ts it has no clocks of its own, because all
 * attempts share one deadline, and it ends when its client leaves, because nobody pays for what nobody reads. What a
 * provider says of its failure goes no further.
 */
import { codeOf, machineShortage } from '../providers/machine-shortage.ts';
import { isOfConnecting } from '../providers/transport.ts';
import type { UpstreamRequest } from '../providers/upstream.ts';
import { parseJson } from '../providers/wire.ts';
import { type AnsweredCall, DecisionError, type DecisionErrorName, type UpstreamCall } from './errors.ts';
import { readRetryAfter } from './retry-after.ts';

const mostAnswerBytes = 4_194_304;
const mostRefusalBytes = 65_536;

/** A success: its JSON, and what is known of the call. */
type Reply = Readonly<{ body: unknown; upstream: AnsweredCall }>;

/** Throws a DecisionError for everything but a success with JSON. `provider` is the name that clients are told. */
export async function post(request: UpstreamRequest, provider: string, signal: AbortSignal): Promise<Reply> {
  const response = await send(request, provider, signal);
  const upstream = { provider, status: response.status, requestId: requestIdIn(response.headers) };
  if (response.status < 200 || response.status > 299)
    throw await refusal(request, response, upstream, signal);
  const text = await readText(response, mostAnswerBytes, upstream, signal);
  if (text === null) throw new DecisionError('invalid_response', { upstream });
  return { body: readJson(text, upstream), upstream };
}

async function send(
  { url, headers, body }: UpstreamRequest,
  provider: string,
  signal: AbortSignal,
): Promise<Response> {
  try {
    return await fetch(url, {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      // What is inflated would escape the bound on what is read. Nobody asked for it, and as it is it is no text.
      decompress: false,
      signal,
    });
  } catch (error) {
    const code = codeOf(error);
    const upstream = { provider, status: null, requestId: null };
    throw machineShortage(code) ?? broken(upstream, signal, isOfConnecting(code));
  }
}

/** Why a call broke off: because it was told to, or because the connection failed. */
function broken(upstream: UpstreamCall, signal: AbortSignal, isUnreached = false): DecisionError {
  if (signal.aborted) return new DecisionError('timeout', { upstream });
  return new DecisionError('connection_error', { upstream, isUnreached });
}

async function refusal(
  { readRefusal }: UpstreamRequest,
  response: Response,
  upstream: UpstreamCall,
  signal: AbortSignal,
): Promise<DecisionError> {
  // Some formats say in the body what their status does not; of all others it is not even read.
  const told =
    readRefusal === undefined
      ? null
      : readRefusal(response.status, await readRefusalBody(response, upstream, signal));
  await discard(response);
  const reason = told?.code === 'provider_authentication_error' ? told.code : reasonOfStatus(response.status);
  const retryAfterSeconds =
    told?.retryAfterSeconds ?? readRetryAfter(response.headers.get('retry-after'), Date.now());
  return new DecisionError(reason, {
    upstream,
    retryAfterSeconds: reason === 'rate_limit' ? retryAfterSeconds : null,
  });
}

function reasonOfStatus(status: number): DecisionErrorName {
  if (status === 401 || status === 403) return 'provider_authentication_error';
  if (status === 422) return 'request_rejected';
  if (status === 429) return 'rate_limit';
  if (status === 529) return 'provider_overloaded';
  return 'provider_error';
}

async function readRefusalBody(
  response: Response,
  upstream: UpstreamCall,
  signal: AbortSignal,
): Promise<unknown> {
  try {
    return parseJson((await readText(response, mostRefusalBytes, upstream, signal)) ?? '');
  } catch {
    return null;
  }
}

/** Null when it is longer than it may be, or no text. */
async function readText(
  response: Response,
  mostBytes: number,
  upstream: UpstreamCall,
  signal: AbortSignal,
): Promise<string | null> {
  const pieces: Uint8Array[] = [];
  let sizeBytes = 0;
  try {
    for await (const piece of response.body ?? []) {
      sizeBytes += piece.byteLength;
      if (sizeBytes > mostBytes) return null;
      pieces.push(piece);
    }
  } catch {
    throw broken(upstream, signal);
  }
  return decode(Buffer.concat(pieces));
}

function decode(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

function readJson(text: string, upstream: UpstreamCall): unknown {
  try {
    return parseJson(text);
  } catch {
    throw new DecisionError('invalid_response', { upstream });
  }
}

/** Lets go of what is still to come, so that the connection is not kept for it. */
async function discard({ body }: Response): Promise<void> {
  if (body !== null && !body.locked) await body.cancel().catch(() => undefined);
}

/** The ID that a provider gave the call, if it is one: it is shown to people, and may be anything. */
function requestIdIn(headers: Headers): string | null {
  const id = headers.get('x-request-id') ?? headers.get('request-id') ?? '';
  return /^[A-Za-z0-9][\w.:/+=@-]{0,199}$/.test(id) ? id : null;
}
