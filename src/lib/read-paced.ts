/**
 * A body, counted and timed as it comes: what a client announces is no promise, and one that dawdles keeps memory and a
 * connection for nothing. Whatever is thrown cancels the stream, so nothing more of the body is taken in.
 */
import { Deadlines } from './deadlines.ts';
import { LateError } from './within.ts';

/** How slowly a body may come: so many bytes a second on the average after a while of grace, and never for longer. */
export type Pace = Readonly<{ graceMs: number; leastBytesPerSecond: number; longestMs: number }>;

export const usualPace: Pace = { graceMs: 10_000, leastBytesPerSecond: 8_192, longestMs: 300_000 };

/** For all bodies there are. */
export const bodyDeadlines = new Deadlines();

/** How long so many bytes may take. */
export function allowedMs(sizeBytes: number, { graceMs, leastBytesPerSecond, longestMs }: Pace): number {
  return Math.min(longestMs, graceMs + (sizeBytes / leastBytesPerSecond) * 1_000);
}

/**
 * `check` is told the size with each piece, before it is kept, and may throw. Throws a LateError for what is too slow.
 * `expectedBytes` is how many there should be at most.
 */
export async function readPaced(
  body: ReadableStream<Uint8Array> | null,
  expectedBytes: number,
  check: (sizeBytes: number) => void,
  pace: Pace = usualPace,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new GrowingBytes(expectedBytes);
  if (body === null) return bytes.taken();
  const startedAtMs = performance.now();
  const reader = body.getReader();
  let isLate = false;
  const deadline = bodyDeadlines.start(pace.graceMs, () => {
    isLate = true;
    reader.cancel().catch(() => undefined);
  });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (isLate) throw new LateError('The body came too slowly.');
      if (done) return bytes.taken();
      const sizeBytes = bytes.sizeBytes + value.byteLength;
      check(sizeBytes);
      bytes.add(value);
      deadline.extend(startedAtMs + allowedMs(sizeBytes, pace) - performance.now());
    }
  } catch (error) {
    reader.cancel().catch(() => undefined);
    throw error;
  } finally {
    deadline.clear();
  }
}

/** Nothing more is set aside for a body of which nothing has come. */
const firstBufferBytes = 65_536;

/** One buffer, because a body that comes byte by byte would cost a hundredfold as a list of pieces. */
class GrowingBytes {
  sizeBytes = 0;
  readonly #expectedBytes: number;
  #buffer: Uint8Array<ArrayBuffer>;

  constructor(expectedBytes: number) {
    this.#expectedBytes = expectedBytes;
    this.#buffer = new Uint8Array(Math.min(expectedBytes, firstBufferBytes));
  }

  add(piece: Uint8Array): void {
    const sizeBytes = this.sizeBytes + piece.byteLength;
    if (sizeBytes > this.#buffer.byteLength) this.#grow(sizeBytes);
    this.#buffer.set(piece, this.sizeBytes);
    this.sizeBytes = sizeBytes;
  }

  #grow(sizeBytes: number): void {
    const doubledBytes = Math.min(this.#buffer.byteLength * 2, this.#expectedBytes);
    const larger = new Uint8Array(Math.max(sizeBytes, doubledBytes));
    larger.set(this.#buffer.subarray(0, this.sizeBytes));
    this.#buffer = larger;
  }

  taken(): Uint8Array<ArrayBuffer> {
    return this.#buffer.subarray(0, this.sizeBytes);
  }
}
