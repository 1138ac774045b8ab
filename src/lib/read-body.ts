/** Reads the body of a request or a response, counting its bytes and, for a client's, timing it. */
import { Deadlines } from './deadlines.ts';
import { LateError } from './within.ts';

/** How slowly a body may arrive: on average no slower than this after a grace period, and never for longer than `maxMs`. */
export type Pace = Readonly<{ graceMs: number; minBytesPerSecond: number; maxMs: number }>;

export const defaultPace: Pace = { graceMs: 10_000, minBytesPerSecond: 8_192, maxMs: 300_000 };

/** Shared by all bodies, which move their deadlines with every chunk. */
export const bodyDeadlines = new Deadlines();

/** How long a body of this size may take. */
export function allowedMs(sizeBytes: number, { graceMs, minBytesPerSecond, maxMs }: Pace): number {
  return Math.min(maxMs, graceMs + (sizeBytes / minBytesPerSecond) * 1_000);
}

type ReadOptions = Readonly<{
  /** The size that is expected at most. A larger body is still read as long as `onChunk` allows it. */
  expectedBytes: number;
  /** Gets the size so far with each chunk, before the chunk is stored. It may throw. */
  onChunk: (sizeBytes: number) => void;
  /** Null where the caller watches the time itself. */
  pace: Pace | null;
}>;

/** Throws a LateError for a body that is too slow. Any error cancels the stream, so that no more of it is read. */
export async function readBody(
  body: ReadableStream<Uint8Array> | null,
  { expectedBytes, onChunk, pace }: ReadOptions,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new GrowingBytes(expectedBytes);
  if (body === null) return bytes.stored();
  const startedAtMs = bodyDeadlines.nowMs();
  const reader = body.getReader();
  let isLate = false;
  const cancelLate = () => {
    isLate = true;
    reader.cancel().catch(() => undefined);
  };
  const deadline = pace === null ? null : bodyDeadlines.start(pace.graceMs, cancelLate);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (isLate) throw new LateError('The body arrived too slowly.');
      if (done) return bytes.stored();
      const sizeBytes = bytes.sizeBytes + value.byteLength;
      onChunk(sizeBytes);
      bytes.add(value);
      if (pace !== null && deadline !== null) deadline.atMs = startedAtMs + allowedMs(sizeBytes, pace);
    }
  } catch (error) {
    reader.cancel().catch(() => undefined);
    throw error;
  } finally {
    deadline?.clear();
  }
}

/** One growing buffer: as a list of chunks, a body that arrives byte by byte would cost a hundred times its size. */
class GrowingBytes {
  sizeBytes = 0;
  readonly #expectedBytes: number;
  #buffer = new Uint8Array(0);

  constructor(expectedBytes: number) {
    this.#expectedBytes = expectedBytes;
  }

  add(chunk: Uint8Array): void {
    const sizeBytes = this.sizeBytes + chunk.byteLength;
    if (sizeBytes > this.#buffer.byteLength) this.#grow(sizeBytes);
    this.#buffer.set(chunk, this.sizeBytes);
    this.sizeBytes = sizeBytes;
  }

  #grow(sizeBytes: number): void {
    const doubledBytes = Math.min(this.#buffer.byteLength * 2, this.#expectedBytes);
    const larger = new Uint8Array(Math.max(sizeBytes, doubledBytes));
    larger.set(this.#buffer.subarray(0, this.sizeBytes));
    this.#buffer = larger;
  }

  stored(): Uint8Array<ArrayBuffer> {
    return this.#buffer.subarray(0, this.sizeBytes);
  }
}
