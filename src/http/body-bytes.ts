/** Reads a request's body within the limits of size and time and the node's budget. */
import { ApiError } from '../errors.ts';
import { allowedMs, bodyDeadlines, type Pace, readBody } from '../lib/read-body.ts';
import { LateError } from '../lib/within.ts';
import { type BodyBudget, freeBodyBytes } from './body-budget.ts';

/** Whose share of the node's budget a body takes. */
export type Payer = Readonly<{ budget: BodyBudget; accountId: string }>;

export type BodyLimits = Readonly<{
  maxBytes: number;
  /** Null for bodies whose own limit is small. */
  payer: Payer | null;
  pace: Pace;
  /** Gets the number of bytes read so far. */
  onRead?: (sizeBytes: number) => void;
}>;

/** `reason` is for endpoints with their own error codes. */
export class BodyError extends ApiError {
  readonly reason: 'too_large' | 'too_slow' | 'incomplete';

  constructor(reason: BodyError['reason'], message: string, cause?: unknown) {
    super('invalid_request', { message, endsConnection: reason !== 'incomplete', cause });
    this.reason = reason;
  }
}

/** Room is taken in steps of this size. */
const roomStepBytes = 262_144;

/** Throws a BodyError, or an ApiError 503 server_overloaded when there is no room. */
export async function readBodyBytes(
  request: Request,
  limits: BodyLimits,
): Promise<Uint8Array<ArrayBuffer> | ArrayBuffer> {
  const header = request.headers.get('content-length');
  const announcedBytes = header === null ? null : Number(header);
  if (announcedBytes !== null && announcedBytes > limits.maxBytes) throw tooLarge(limits.maxBytes);
  try {
    return announcedBytes !== null && announcedBytes <= freeBodyBytes
      ? await readSmall(request, announcedBytes, limits)
      : await readLarge(request, announcedBytes, limits);
  } catch (thrown) {
    if (thrown instanceof ApiError) throw thrown;
    throw thrown instanceof LateError
      ? tooSlow()
      : new BodyError('incomplete', 'The request body could not be read to its end.', thrown);
  }
}

/**
 * In one go, because nearly every body is small and arrives with its head. It is a single promise, because every request
 * comes through here and a race of two takes four times as long.
 */
function readSmall(
  request: Request,
  announcedBytes: number,
  { maxBytes, pace, onRead }: BodyLimits,
): Promise<ArrayBuffer> {
  return new Promise((resolve, reject) => {
    const deadline = bodyDeadlines.start(allowedMs(announcedBytes, pace), () => reject(tooSlow()));
    request.arrayBuffer().then(
      (bytes) => {
        deadline.clear();
        onRead?.(bytes.byteLength);
        // The server enforces the announced length; this does not rely on it.
        if (bytes.byteLength > maxBytes) reject(tooLarge(maxBytes));
        else resolve(bytes);
      },
      (error: unknown) => {
        deadline.clear();
        reject(error);
      },
    );
  });
}

/** A body that announces more than fits now is not read at all, but only what has arrived takes room. */
async function readLarge(
  request: Request,
  announcedBytes: number | null,
  { maxBytes, payer, pace, onRead }: BodyLimits,
): Promise<Uint8Array<ArrayBuffer>> {
  const room = payer?.budget.roomFor(request, payer.accountId);
  if (announcedBytes !== null) room?.checkGrowthTo(announcedBytes);
  const expectedBytes = announcedBytes ?? maxBytes;
  const onChunk = (sizeBytes: number) => {
    onRead?.(sizeBytes);
    if (sizeBytes > maxBytes) throw tooLarge(maxBytes);
    const neededBytes = Math.ceil(sizeBytes / roomStepBytes) * roomStepBytes;
    if (sizeBytes > freeBodyBytes) room?.growTo(Math.min(neededBytes, expectedBytes));
  };
  return await readBody(request.body, { expectedBytes, onChunk, pace });
}

function tooLarge(maxBytes: number): BodyError {
  const size = maxBytes < 1024 * 1024 ? `${maxBytes / 1024} KB` : `${maxBytes / 1024 / 1024} MB`;
  return new BodyError('too_large', `The request body is larger than ${size}.`);
}

function tooSlow(): BodyError {
  return new BodyError('too_slow', 'The request body arrived too slowly.');
}
