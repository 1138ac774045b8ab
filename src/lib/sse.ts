/**
 * Reads Server-Sent Events from text that arrives in pieces of any size. Only the data of events is returned; comments,
 * names and IDs are skipped.
 */
export class SseParser {
  readonly #maxEvent: number;
  /** The beginning of a line whose end has not arrived yet. */
  #rest = '';
  /** The data lines of the current event; null when it has none so far. */
  #data: string | null = null;
  #isFirst = true;
  /** The current event is too long, and the rest of it is skipped. */
  #isSkipping = false;

  constructor(maxEvent = 1_048_576) {
    this.#maxEvent = maxEvent;
  }

  /** Whether the next piece starts with a new event, so that events can be taken from its start before it is pushed. */
  get isBetweenEvents(): boolean {
    return this.#rest === '' && this.#data === null && !this.#isFirst && !this.#isSkipping;
  }

  /** The data of every event that this piece completes; null, once, for one that exceeds the limit and is skipped. */
  push(piece: string): (string | null)[] {
    const events: (string | null)[] = [];
    let text = this.#rest === '' ? piece : this.#rest + piece;
    if (this.#isFirst && text !== '') {
      this.#isFirst = false;
      if (text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    }
    // A carriage return at the very end may be half of a line end; the next piece decides.
    const half = text.endsWith('\r') ? '\r' : '';
    if (text.includes('\r')) text = text.slice(0, text.length - half.length).replace(/\r\n?/g, '\n');
    let start = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      this.#takeLine(text, start, end, events);
      start = end + 1;
    }
    const line = text.slice(start);
    this.#rest = line + half;
    if (this.#rest.length + (this.#data?.length ?? 0) > this.#maxEvent) {
      if (!this.#isSkipping) events.push(null);
      this.#isSkipping = true;
      this.#data = null;
      // The current line becomes a comment, however long it goes on.
      this.#rest = (line === '' ? '' : ':') + half;
    }
    return events;
  }

  #takeLine(text: string, start: number, end: number, events: (string | null)[]): void {
    if (start === end) {
      if (this.#data !== null) events.push(this.#data);
      this.#isSkipping = false;
      this.#data = null;
      return;
    }
    if (this.#isSkipping || !text.startsWith('data', start)) return;
    const colon = start + 4;
    if (colon < end && text.charCodeAt(colon) !== 58) return;
    // One space after the colon belongs to the format, further ones to the data.
    const from = text.charCodeAt(colon + 1) === 32 ? colon + 2 : colon + 1;
    const value = from < end ? text.slice(from, end) : '';
    this.#data = this.#data === null ? value : `${this.#data}\n${value}`;
  }
}
