/** Counts the Server-Sent Events in a body, however it is split, and notices errors among them. */
const errorStart = Buffer.from('data: {"error"');
const doneEvent = Buffer.from('data: [DONE]');
const lineFeed = 10;

export class EventCounter {
  events = 0;
  errors = 0;
  /** Whether the last event was the end marker. */
  isDone = false;
  #place = 0;
  #isError = true;
  #isDoneSoFar = true;
  #isLineEmpty = false;

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
      if (place < errorStart.length && byte !== errorStart[place]) this.#isError = false;
      if (place < doneEvent.length && byte !== doneEvent[place]) this.#isDoneSoFar = false;
      this.#place = place + 1;
    }
  }

  #endEvent(): void {
    this.events += 1;
    if (this.#isError && this.#place >= errorStart.length) this.errors += 1;
    this.isDone = this.#isDoneSoFar && this.#place === doneEvent.length;
    this.#startEvent();
  }

  #startEvent(): void {
    this.#place = 0;
    this.#isError = true;
    this.#isDoneSoFar = true;
    this.#isLineEmpty = false;
  }
}
