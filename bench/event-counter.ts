/** Counts the Server-Sent Events in a body, however it is split, and notices errors among them. */
import type { Format } from './scenarios.ts';

/** How the events begin that end a stream, well or not. */
const signs: Readonly<Record<Format, Readonly<{ error: Buffer; end: Buffer }>>> = {
  chat: { error: Buffer.from('data: {"error"'), end: Buffer.from('data: [DONE]') },
  messages: { error: Buffer.from('event: error'), end: Buffer.from('event: message_stop') },
  responses: { error: Buffer.from('event: response.failed'), end: Buffer.from('event: response.completed') },
};
const lineFeed = 10;

export class EventCounter {
  events = 0;
  errors = 0;
  /** Whether the last event was the end marker. */
  isDone = false;
  readonly #errorSign: Buffer;
  readonly #endSign: Buffer;
  #place = 0;
  #isError = true;
  #isDoneSoFar = true;
  #isLineEmpty = false;

  constructor(format: Format) {
    ({ error: this.#errorSign, end: this.#endSign } = signs[format]);
  }

  reset(): void {
    this.events = 0;
    this.errors = 0;
    this.isDone = false;
    this.#startEvent();
  }

  push(bytes: Buffer, start: number, end: number): void {
    for (let at = start; at < end; at += 1) {
      const byte = bytes[at];
      if (byte === lineFeed) {
        if (this.#isLineEmpty) this.#endEvent();
        else this.#isLineEmpty = true;
        continue;
      }
      this.#isLineEmpty = false;
      const place = this.#place;
      if (place < this.#errorSign.length && byte !== this.#errorSign[place]) this.#isError = false;
      if (place < this.#endSign.length && byte !== this.#endSign[place]) this.#isDoneSoFar = false;
      this.#place = place + 1;
    }
  }

  #endEvent(): void {
    this.events += 1;
    if (this.#isError && this.#place >= this.#errorSign.length) this.errors += 1;
    this.isDone = this.#isDoneSoFar && this.#place >= this.#endSign.length;
    this.#startEvent();
  }

  #startEvent(): void {
    this.#place = 0;
    this.#isError = true;
    this.#isDoneSoFar = true;
    this.#isLineEmpty = false;
  }
}
