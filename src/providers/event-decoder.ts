/** Turns the bytes of a stream into events, whatever their format, however the bytes are split. It does no I/O. */
import { isUtf8 } from 'node:buffer';
import { SseParser } from '../lib/sse.ts';
import { ProviderError } from './upstream.ts';

/** Turns the data of a stream into events. */
export type EventReader<Event> = Readonly<{
  /** Throws a ProviderError when the data cannot be read. */
  read: (data: string) => readonly Event[];
  /** Stands for data that could not be read. The rest is still read, because it may include the usage. */
  unreadable: (error: ProviderError) => Event;
  /** Stands for data that was too long and was skipped. */
  tooLong: () => Event;
  /**
   * Reads common events from the start of a text that begins with a new event, without parsing them. Adds them to `events`
   * and returns how much of the text they take, which may be nothing.
   */
  readCommon: (text: string, events: Event[]) => number;
  /** In characters; left out for the usual limit. */
  maxEvent?: number | undefined;
}>;

const lineFeed = 10;
const nothing = new Uint8Array(0);

// Stateless between complete characters, so they serve every stream. The parser handles a byte order mark.
const strictDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const lenientDecoder = new TextDecoder('utf-8', { ignoreBOM: true });

export class EventDecoder<Event> {
  readonly #reader: EventReader<Event>;
  readonly #parser: SseParser;
  /** The beginning of a character whose end has not arrived yet. */
  #rest: Uint8Array = nothing;
  #isUnreadable = false;

  constructor(reader: EventReader<Event>) {
    this.#reader = reader;
    this.#parser = new SseParser(reader.maxEvent);
  }

  /** The events that these bytes complete. The first thing that cannot be read becomes an event too, in its place. */
  take(bytes: Uint8Array): readonly Event[] {
    const all = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    const end = all.length - incompleteBytes(all);
    this.#rest = end === all.length ? nothing : all.slice(end);
    const events: Event[] = [];
    const whole = all.subarray(0, end);
    const text = decode(whole);
    if (text !== null) this.#read(text, events);
    else this.#readAround(whole, events);
    return events;
  }

  /** Lines before the one that is not UTF-8 are part of the answer. After it nothing is passed on, so any text will do. */
  #readAround(bytes: Uint8Array, events: Event[]): void {
    const from = firstBadLine(bytes);
    this.#read(strictDecoder.decode(bytes.subarray(0, from)), events);
    this.#fail(new ProviderError('malformed_stream_chunk'), events);
    this.#read(lenientDecoder.decode(bytes.subarray(from)), events);
  }

  #read(text: string, events: Event[]): void {
    const taken = this.#parser.isBetweenEvents ? this.#reader.readCommon(text, events) : 0;
    if (taken === text.length && taken > 0) return;
    for (const data of this.#parser.push(taken === 0 ? text : text.slice(taken))) {
      if (data === null) events.push(this.#reader.tooLong());
      else this.#readData(data, events);
    }
  }

  #readData(data: string, events: Event[]): void {
    try {
      for (const event of this.#reader.read(data)) events.push(event);
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      this.#fail(error, events);
    }
  }

  /** Only the first is reported: the rest of a stream may be just as unreadable. */
  #fail(error: ProviderError, events: Event[]): void {
    if (!this.#isUnreadable) events.push(this.#reader.unreadable(error));
    this.#isUnreadable = true;
  }
}

/** Null when the bytes are not UTF-8. */
function decode(bytes: Uint8Array): string | null {
  try {
    return strictDecoder.decode(bytes);
  } catch {
    return null;
  }
}

/** Where the first line that is not UTF-8 begins. A binary search, because there may be very many short lines. */
function firstBadLine(bytes: Uint8Array): number {
  let from = 0;
  let to = bytes.length;
  for (;;) {
    const half = bytes.lastIndexOf(lineFeed, (from + to) >> 1) + 1;
    const next = half > from ? half : bytes.indexOf(lineFeed, from) + 1;
    // Only one line is left.
    if (next === 0 || next >= to) return from;
    if (isUtf8(bytes.subarray(from, next))) from = next;
    else to = next;
  }
}

/** How many bytes at the end are the beginning of a character. */
function incompleteBytes(bytes: Uint8Array): number {
  for (let back = 1; back <= 3; back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return back < bytesOfCharacter(byte) ? back : 0;
  }
  return 0;
}

function bytesOfCharacter(firstByte: number): number {
  if (firstByte >= 0xf0) return 4;
  return firstByte >= 0xe0 ? 3 : 2;
}
