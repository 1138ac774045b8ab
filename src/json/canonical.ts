/**
 * JSON without spaces and with the fields of every object sorted, written a slice at a time, because a body may be long
 * and hold many values, and other requests have to get their turn.
 */

/** A slice ends soon after this many characters. */
const sliceLength = 65_536;

/** An object or array that is being written. `names` is null for an array. */
type Open = { readonly names: readonly string[] | null; readonly values: readonly unknown[]; next: number };

export class CanonicalJson {
  readonly #open: Open[] = [];
  /** What is still to be written of a text that is longer than a slice. */
  #rest: string | null = null;
  #slice = '';

  /** `value` comes from JSON, so it has no cycles. */
  constructor(value: unknown) {
    this.#begin(value);
  }

  /** Empty when all has been written. */
  nextSlice(): string {
    while (this.#slice.length < sliceLength) {
      if (this.#rest !== null) this.#writeRest(this.#rest);
      else {
        const open = this.#open.at(-1);
        if (open === undefined) break;
        this.#continue(open);
      }
    }
    const slice = this.#slice;
    this.#slice = '';
    return slice;
  }

  #continue(open: Open): void {
    const { names, values, next } = open;
    if (next === values.length) {
      this.#slice += names === null ? ']' : '}';
      this.#open.pop();
      return;
    }
    open.next += 1;
    if (next > 0) this.#slice += ',';
    if (names !== null) this.#slice += `${JSON.stringify(names[next])}:`;
    this.#begin(values[next]);
  }

  #begin(value: unknown): void {
    if (Array.isArray(value)) {
      this.#slice += '[';
      this.#open.push({ names: null, values: value, next: 0 });
    } else if (typeof value === 'object' && value !== null) {
      const fields = new Map(Object.entries(value));
      const names = [...fields.keys()].toSorted();
      this.#slice += '{';
      this.#open.push({ names, values: names.map((name) => fields.get(name)), next: 0 });
    } else if (typeof value === 'string' && value.length > sliceLength) {
      this.#slice += '"';
      this.#rest = value;
    } else this.#slice += JSON.stringify(value);
  }

  #writeRest(text: string): void {
    let end = Math.min(sliceLength, text.length);
    // The two halves of a surrogate pair must stay together: JSON escapes a lone one.
    while (/[\ud800-\udbff]/.test(text[end - 1] ?? '')) end += 1;
    this.#slice += JSON.stringify(text.slice(0, end)).slice(1, -1);
    this.#rest = end < text.length ? text.slice(end) : null;
    if (this.#rest === null) this.#slice += '"';
  }
}
