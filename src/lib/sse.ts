/**
 * Reads Server-Sent Events from text that arrives in pieces of any size. Only the data of events is of interest here;
 * comments, names and IDs are passed over.
 */
export class SseParser {
  readonly #longestEvent: number;
  /** The beginning of a line whose end has not arrived yet. */
  #rest = '';
  /** The data lines of the event under way; null when it has none so far. */
  #data: string | null = null;
  #isFirst = true;

  constructor(longestEvent = 1_048_576) {
    this.#longestEvent = longestEvent;
  }

  /** The data of every event that this piece completes. Throws a RangeError when an event grows beyond the bound. */
  push(piece: string): string[] {
    const events: string[] = [];
    let text = this.#rest === '' ? piece : this.#rest + piece;
    if (this.#isFirst && text !== '') {
      this.#isFirst = false;
      if (text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    }
    // Looked for once: a search that finds nothing would otherwise run to the end of the text for every line.
    const hasCarriageReturns = text.includes('\r');
    let start = 0;
    for (;;) {
      const end = hasCarriageReturns ? lineEnd(text, start) : text.indexOf('\n', start);
      if (end < 0) break;
      // A carriage return at the very end may be half of a line end; the next piece tells.
      if (text.charCodeAt(end) === 13 && end === text.length - 1) break;
      this.#takeLine(text, start, end, events);
      start = text.charCodeAt(end) === 13 && text.charCodeAt(end + 1) === 10 ? end + 2 : end + 1;
    }
    this.#rest = start === 0 ? text : text.slice(start);
    if (this.#rest.length + (this.#data?.length ?? 0) > this.#longestEvent)
      throw new RangeError('The event is too long.');
    return events;
  }

  #takeLine(text: string, start: number, end: number, events: string[]): void {
    if (start === end) {
      if (this.#data !== null) events.push(this.#data);
      this.#data = null;
      return;
    }
    if (!text.startsWith('data', start)) return;
    const colon = start + 4;
    if (colon < end && text.charCodeAt(colon) !== 58) return;
    // One blank after the colon belongs to the format, further ones to the data.
    const from = text.charCodeAt(colon + 1) === 32 ? colon + 2 : colon + 1;
    const value = from < end ? text.slice(from, end) : '';
    this.#data = this.#data === null ? value : `${this.#data}\n${value}`;
  }
}

function lineEnd(text: string, start: number): number {
  const feed = text.indexOf('\n', start);
  const carriage = text.indexOf('\r', start);
  if (feed < 0) return carriage;
  return carriage < 0 || feed < carriage ? feed : carriage;
}
