/**
 * JSON without spaces and with the fields of every object in order, a slice at a time. It is not made at once because a
 * body may be long and hold many values, and others have to get their turn.
 */

/** A slice ends soon after so many characters. */
const sliceLength = 65_536;

/** An object or an array that has been begun. `names` is null for an array. */
type Begun = { readonly names: readonly string[] | null; readonly values: readonly unknown[]; next: number };

export class CanonicalJson {
  readonly #begun: Begun[] = [];
  /** A text that is longer than a slice, as far as it is still to be written. */
  #rest: string | null = null;
  #slice = '';

  /** `value` comes from JSON: it holds itself nowhere. */
  constructor(value: unknown) {
    this.#begin(value);
  }

  /** Empty when all has been written. */
  nextSlice(): string {
    while (this.#slice.length < sliceLength) {
      if (this.#rest !== null) this.#writeRest(this.#rest);
      else {
        const begun = this.#begun.at(-1);
        if (begun === undefined) break;
        this.#goOn(begun);
      }
    }
    const slice = this.#slice;
    this.#slice = '';
    return slice;
  }

  #goOn(begun: Begun): void {
    const { names, values, next } = begun;
    if (next === values.length) {
      this.#slice += names === null ? ']' : '}';
      this.#begun.pop();
      return;
    }
    begun.next += 1;
    if (next > 0) this.#slice += ',';
    if (names !== null) this.#slice += `${JSON.stringify(names[next])}:`;
    this.#begin(values[next]);
  }

  #begin(value: unknown): void {
    if (Array.isArray(value)) {
      this.#slice += '[';
      this.#begun.push({ names: null, values: value, next: 0 });
    } else if (typeof value === 'object' && value !== null) {
      const fields = new Map(Object.entries(value));
      const names = [...fields.keys()].toSorted();
      this.#slice += '{';
      this.#begun.push({ names, values: names.map((name) => fields.get(name)), next: 0 });
    } else if (typeof value === 'string' && value.length > sliceLength) {
      this.#slice += '"';
      this.#rest = value;
    } else this.#slice += JSON.stringify(value);
  }

  #writeRest(text: string): void {
    let end = Math.min(sliceLength, text.length);
    // The two halves of a character must stay together: JSON spells a lone one differently.
    while (/[\ud800-\udbff]/.test(text[end - 1] ?? '')) end += 1;
    this.#slice += JSON.stringify(text.slice(0, end)).slice(1, -1);
    this.#rest = end < text.length ? text.slice(end) : null;
    if (this.#rest === null) this.#slice += '"';
  }
}
