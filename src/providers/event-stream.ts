/** Reads the events of a provider's streamed response as they arrive, within the deadlines of its call. */
import type { Call } from './call.ts';
import { EventDecoder, type EventReader } from './event-decoder.ts';
import { EndedByGateway, ProviderError } from './upstream.ts';

const lineFeed = 10;
/** Several times the longest answer of any model in the wordiest format. Nothing else ends a stream that never pauses. */
export const maxStreamBytes = 268_435_456;

/** The part of a body's reader that is used: Bun and Node.js type the rest of it differently. */
type ByteReader = Readonly<{
  read: () => Promise<Readonly<{ done: boolean; value?: Uint8Array | undefined }>>;
}>;

export class EventStream<Event> {
  /** The status of the response, always a success. */
  readonly status: number;
  readonly #call: Call;
  readonly #body: ByteReader;
  readonly #decoder: EventDecoder<Event>;
  /** Until the first bytes arrive, the deadline for the first byte applies. */
  #hasBegun = false;
  #sizeBytes = 0;

  constructor(status: number, body: ReadableStream<Uint8Array>, call: Call, reader: EventReader<Event>) {
    this.status = status;
    this.#call = call;
    this.#body = body.getReader();
    this.#decoder = new EventDecoder(reader);
  }

  /**
   * The next events, possibly none; null at the end of the stream. The provider's clock runs only while we wait for it, not
   * while a slow client keeps us from reading. A piece that completes no line does not extend its time: a line that drips
   * in byte by byte is as good as silence.
   */
  async next(): Promise<readonly Event[] | null> {
    if (this.#hasBegun) this.#call.awaitChunk();
    for (;;) {
      const bytes = await this.#read();
      if (bytes === null) return null;
      this.#sizeBytes += bytes.length;
      if (this.#sizeBytes > maxStreamBytes) throw new EndedByGateway('malformed_stream_chunk', this.status);
      const events = this.#decoder.take(bytes);
      if (events.length === 0 && !bytes.includes(lineFeed)) continue;
      this.#call.rest();
      return events;
    }
  }

  async #read(): Promise<Uint8Array | null> {
    try {
      const { done, value } = await this.#body.read();
      this.#hasBegun = true;
      return done ? null : (value ?? null);
    } catch {
      throw (
        this.#call.earlyEnd(this.status, true) ??
        new ProviderError('provider_stream_error', { upstreamStatus: this.status })
      );
    }
  }

  /** Stops the provider if it is still sending. Must always be called. */
  close(): void {
    this.#call.end();
  }
}
