/**
 * Reads the head of a response from whoever a customer has chosen to answer. Every byte is looked at a fixed number of times,
 * however it arrives and whatever it says.
 */

/** Of everything before the body, with the responses that only say that another one follows. */
export const maxHeadBytes = 16_384;

const endOfHead = '\r\n\r\n';

export class HeadReader {
  readonly #bytes = Buffer.alloc(maxHeadBytes);
  #length = 0;
  #start = 0;
  #searchedTo = 0;

  /** The head, once all of it is there; `too_long` if it does not end in time; null until then. */
  add(chunk: Buffer): Readonly<{ head: string }> | 'too_long' | null {
    const copied = chunk.copy(this.#bytes, this.#length);
    this.#length += copied;
    for (;;) {
      const end = this.#bytes.subarray(0, this.#length).indexOf(endOfHead, this.#searchedTo);
      if (end < 0) break;
      const head = this.#bytes.toString('latin1', this.#start, end);
      if (!isInterim(head)) return { head };
      this.#start = end + endOfHead.length;
      this.#searchedTo = this.#start;
    }
    this.#searchedTo = Math.max(this.#start, this.#length - endOfHead.length + 1);
    return copied < chunk.length ? 'too_long' : null;
  }
}

function isInterim(head: string): boolean {
  return /^HTTP\/1\.[01] 1\d\d/.test(head);
}

/** Null for what is no response to a request. */
export function statusIn(head: string): number | null {
  const status = /^HTTP\/1\.[01] ([2-5]\d\d)(?: |\r|$)/.exec(head)?.[1];
  return status === undefined ? null : Number(status);
}

/** The value of the first header of this name, which is in lower case. */
export function headerIn(head: string, name: string): string | null {
  for (const line of head.split('\n')) {
    const colon = line.indexOf(':');
    if (colon === name.length && line.slice(0, colon).toLowerCase() === name)
      return line.slice(colon + 1).trim();
  }
  return null;
}
