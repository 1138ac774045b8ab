/** Turns the bytes of a stream into events, whatever their format, however the bytes are split. It does no I/O. */
import { SseParser } from '../lib/sse.ts';
import { ProviderError } from './upstream.ts';

/** Turns the data of a stream into events. */
export type EventReader<Event> = Readonly<{
  read: (data: string) => readonly Event[];
  /** Stands for data that was too long and was skipped. */
  tooLong: () => Event;
  /**
   * Reads common events from the start of a text that begins with a new event, without parsing them. Adds them to `events`
   * and returns how much of the text they take, which may be nothing.
   */
  readCommon: (text: string, events: Event[]) => number;
}>;

export class EventDecoder<Event> {
  readonly #reader: EventReader<Event>;
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  readonly #parser = new SseParser();
  /** What is wrong with the stream, once something is: the events before it have been returned. */
  failure: unknown = null;

  constructor(reader: EventReader<Event>) {
    this.#reader = reader;
  }

  /** The events that these bytes complete. What comes before a failure in the same piece is returned; the failure follows. */
  take(bytes: Uint8Array): readonly Event[] {
    const events: Event[] = [];
    try {
      this.#read(this.#decode(bytes), events);
    } catch (error) {
      this.failure = error;
      if (events.length === 0) throw error;
    }
    return events;
  }

  #read(text: string, events: Event[]): void {
    const taken = this.#parser.isBetweenEvents ? this.#reader.readCommon(text, events) : 0;
    if (taken === text.length && taken > 0) return;
    for (const data of this.#parser.push(taken === 0 ? text : text.slice(taken))) {
      if (data === null) events.push(this.#reader.tooLong());
      else for (const event of this.#reader.read(data)) events.push(event);
    }
  }

  #decode(bytes: Uint8Array): string {
    try {
      return this.#decoder.decode(bytes, { stream: true });
    } catch {
      throw new ProviderError('malformed_stream_chunk');
    }
  }
}
