/** The bytes of a request: no more of them than allowed, no slower than bearable, and within the budget of the node. */
import { ApiError } from '../errors.ts';
import { allowedMs, bodyDeadlines, type Pace, readPaced } from '../lib/read-paced.ts';
import { LateError } from '../lib/within.ts';
import { type BodyBudget, freeBodyBytes } from './body-budget.ts';

/** Whose share of the node's budget a body takes. */
export type Payer = Readonly<{ budget: BodyBudget; accountId: string }>;

export type BodyLimits = Readonly<{
  mostBytes: number;
  /** Null for bodies that are small by their own limit. */
  payer: Payer | null;
  pace: Pace;
}>;

/** Room is taken in pieces of this size. */
const roomStepBytes = 262_144;

/** Throws ApiErrors only: 400 invalid_request, and 503 server_overloaded. */
export async function readBodyBytes(
  request: Request,
  limits: BodyLimits,
): Promise<Uint8Array<ArrayBuffer> | ArrayBuffer> {
  const header = request.headers.get('content-length');
  const announcedBytes = header === null ? null : Number(header);
  if (announcedBytes !== null && announcedBytes > limits.mostBytes) throw tooLarge(limits.mostBytes);
  try {
    return announcedBytes !== null && announcedBytes <= freeBodyBytes
      ? await readSmall(request, announcedBytes, limits)
      : await readLarge(request, announcedBytes, limits);
  } catch (thrown) {
    if (thrown instanceof ApiError) throw thrown;
    throw thrown instanceof LateError ? tooSlow() : brokenOff(thrown);
  }
}

/**
 * In one go, because nearly every body is small and has come with its head. A promise of its own, because every request
 * comes by here and a race of two takes four times as long.
 */
function readSmall(
  request: Request,
  announcedBytes: number,
  { mostBytes, pace }: BodyLimits,
): Promise<ArrayBuffer> {
  return new Promise((resolve, reject) => {
    const deadline = bodyDeadlines.start(allowedMs(announcedBytes, pace), () => reject(tooSlow()));
    request.arrayBuffer().then(
      (bytes) => {
        deadline.clear();
        // The server holds a client to the length it announced; this holds the server to it.
        if (bytes.byteLength > mostBytes) reject(tooLarge(mostBytes));
        else resolve(bytes);
      },
      (error: unknown) => {
        deadline.clear();
        reject(error);
      },
    );
  });
}

/** With room for it: a body that announces more than would fit now is not begun, but only what has come takes room. */
async function readLarge(
  request: Request,
  announcedBytes: number | null,
  { mostBytes, payer, pace }: BodyLimits,
): Promise<Uint8Array<ArrayBuffer>> {
  const room = payer?.budget.roomFor(request, payer.accountId);
  if (announcedBytes !== null) room?.checkGrowthTo(announcedBytes);
  const expectedBytes = announcedBytes ?? mostBytes;
  const check = (sizeBytes: number) => {
    if (sizeBytes > mostBytes) throw tooLarge(mostBytes);
    if (sizeBytes > freeBodyBytes) room?.growTo(Math.min(roundedUp(sizeBytes), expectedBytes));
  };
  return await readPaced(request.body, expectedBytes, check, pace);
}

function roundedUp(sizeBytes: number): number {
  return Math.ceil(sizeBytes / roomStepBytes) * roomStepBytes;
}

function tooLarge(mostBytes: number): ApiError {
  const size = mostBytes < 1024 * 1024 ? `${mostBytes / 1024} KB` : `${mostBytes / 1024 / 1024} MB`;
  return new ApiError('invalid_request', {
    message: `The request body is larger than ${size}.`,
    endsConnection: true,
  });
}

function tooSlow(): ApiError {
  return new ApiError('invalid_request', {
    message: 'The request body came too slowly.',
    endsConnection: true,
  });
}

function brokenOff(cause: unknown): ApiError {
  return new ApiError('invalid_request', {
    message: 'The request body could not be read to its end.',
    cause,
  });
}
