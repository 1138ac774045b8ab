/** The bytes of a request: no more of them than allowed, no slower than bearable, and within the budget of the node. */
import { ApiError } from '../errors.ts';
import { Deadlines } from '../lib/deadlines.ts';
import { type BodyBudget, type BodyRoom, freeBodyBytes } from './body-budget.ts';

/** How slowly a body may come: so many bytes a second on the average after a while of grace, and never for longer. */
export type Pace = Readonly<{ graceMs: number; leastBytesPerSecond: number; longestMs: number }>;

export const usualPace: Pace = { graceMs: 10_000, leastBytesPerSecond: 8_192, longestMs: 300_000 };

/** Whose share of the node's budget a body takes. */
export type Payer = Readonly<{ budget: BodyBudget; accountId: string }>;

export type BodyLimits = Readonly<{
  mostBytes: number;
  /** Null for bodies that are small by their own limit. */
  payer: Payer | null;
  pace: Pace;
}>;

/** For a body without a length: room is taken in pieces of this size. */
const roomStepBytes = 1_048_576;
const deadlines = new Deadlines();

/** Throws ApiErrors only: 400 invalid_request, and 503 server_overloaded. */
export async function readBodyBytes(
  request: Request,
  limits: BodyLimits,
): Promise<Uint8Array<ArrayBuffer> | ArrayBuffer> {
  const header = request.headers.get('content-length');
  const announcedBytes = header === null ? null : Number(header);
  if (announcedBytes !== null && announcedBytes > limits.mostBytes) throw tooLarge(limits.mostBytes);
  try {
    if (announcedBytes !== null && announcedBytes <= freeBodyBytes)
      return await readSmall(request, announcedBytes, limits);
    const room = limits.payer?.budget.roomFor(request, limits.payer.accountId) ?? null;
    if (announcedBytes !== null) room?.growTo(announcedBytes);
    if (request.body === null) return new ArrayBuffer(0);
    return await readPieces(request.body, announcedBytes, room, limits);
  } catch (thrown) {
    if (thrown instanceof ApiError) throw thrown;
    throw new ApiError('invalid_request', {
      message: 'The request body could not be read to its end.',
      cause: thrown,
    });
  }
}

/** In one go, because nearly every body is small and has come with its head. */
async function readSmall(
  request: Request,
  announcedBytes: number,
  { mostBytes, pace }: BodyLimits,
): Promise<ArrayBuffer> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const deadline = deadlines.start(allowedMs(announcedBytes, pace), () => reject(tooSlow()));
  try {
    const bytes = await Promise.race([request.arrayBuffer(), late]);
    // The server holds a client to the length it announced; this holds the server to it.
    if (bytes.byteLength > mostBytes) throw tooLarge(mostBytes);
    return bytes;
  } finally {
    deadline.clear();
  }
}

/** Counted as they come. Room for a body without a length is taken while it comes. */
async function readPieces(
  body: ReadableStream<Uint8Array>,
  announcedBytes: number | null,
  room: BodyRoom | null,
  { mostBytes, pace }: BodyLimits,
): Promise<Uint8Array<ArrayBuffer>> {
  const startedAtMs = performance.now();
  const bytes = new GrowingBytes(announcedBytes ?? freeBodyBytes);
  const reader = body.getReader();
  let isLate = false;
  const deadline = deadlines.start(pace.graceMs, () => {
    isLate = true;
    reader.cancel().catch(() => undefined);
  });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (isLate) throw tooSlow();
      if (done) return bytes.taken();
      const sizeBytes = bytes.sizeBytes + value.byteLength;
      if (sizeBytes > mostBytes) throw tooLarge(mostBytes);
      if (announcedBytes === null && sizeBytes > freeBodyBytes) room?.growTo(roundedUp(sizeBytes));
      bytes.add(value);
      deadline.extend(startedAtMs + allowedMs(sizeBytes, pace) - performance.now());
    }
  } catch (error) {
    // Nothing more is taken in of a body that is refused.
    reader.cancel().catch(() => undefined);
    throw error;
  } finally {
    deadline.clear();
  }
}

function roundedUp(sizeBytes: number): number {
  return Math.ceil(sizeBytes / roomStepBytes) * roomStepBytes;
}

/** One buffer, because a body that comes byte by byte would cost a hundredfold as a list of pieces. */
class GrowingBytes {
  sizeBytes = 0;
  #buffer: Uint8Array<ArrayBuffer>;

  /** Memory that is not written to yet costs nothing. */
  constructor(expectedBytes: number) {
    this.#buffer = new Uint8Array(expectedBytes);
  }

  add(piece: Uint8Array): void {
    const sizeBytes = this.sizeBytes + piece.byteLength;
    if (sizeBytes > this.#buffer.byteLength) {
      const larger = new Uint8Array(Math.max(sizeBytes, this.#buffer.byteLength * 2));
      larger.set(this.#buffer.subarray(0, this.sizeBytes));
      this.#buffer = larger;
    }
    this.#buffer.set(piece, this.sizeBytes);
    this.sizeBytes = sizeBytes;
  }

  taken(): Uint8Array<ArrayBuffer> {
    return this.#buffer.subarray(0, this.sizeBytes);
  }
}

/** How long so many bytes may take. */
export function allowedMs(sizeBytes: number, { graceMs, leastBytesPerSecond, longestMs }: Pace): number {
  return Math.min(longestMs, graceMs + (sizeBytes / leastBytesPerSecond) * 1_000);
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
