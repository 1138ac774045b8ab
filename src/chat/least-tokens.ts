/**
 * The fewest tokens that a text has with any public tokenizer, for charges that have to be estimated. It is counted in
 * one pass, in pieces of any size. docs/token-bounds.md has the rule, the measurements, and what is guaranteed.
 */

/** The kinds of UTF-16 units. */
const other = 0;
const letter = 1;
/** Scripts that write no spaces between words. */
const ideograph = 2;
const unspaced = 3;
/** Part of a word, but never its beginning. */
const joiner = 4;
const backslash = 5;

const kinds = makeKinds();

const lowerU = 0x75;
const digitsOfEscape = 4;

/** A longer word has at least one token for this many letters. A repeated letter counts once. */
const lettersPerToken = 32;
const ideographsPerToken = 4;
const unspacedPerToken = 8;

export class LeastTokens {
  #words = 0;
  #ideographs = 0;
  #unspaced = 0;
  /** Letters of the current word; 0 between words. */
  #letters = 0;
  #last = 0;
  /** How much of an escape sequence is still to come. */
  #escaped = 0;

  get tokens(): number {
    return (
      this.#words + Math.floor(this.#ideographs / ideographsPerToken + this.#unspaced / unspacedPerToken)
    );
  }

  /** Counts the text up to `end`. It continues the text before, so a word may come in pieces. */
  add(text: string, end = text.length): void {
    // Locals, because this runs for every character of every request.
    let letters = this.#letters;
    let last = this.#last;
    for (let place = 0; place < end; place += 1) {
      const unit = text.charCodeAt(place);
      if (this.#escaped > 0) {
        this.#skipEscaped(unit);
        continue;
      }
      const kind = kinds[unit];
      if (kind === letter) {
        if (unit !== last) letters = this.#withLetter(letters);
      } else if (kind !== joiner) {
        letters = 0;
        if (kind !== other) this.#takeRare(kind, unit === last);
      }
      last = unit;
    }
    this.#letters = letters;
    this.#last = last;
  }

  #withLetter(letters: number): number {
    if (letters > 0 && letters + 1 < 2 * lettersPerToken) return letters + 1;
    this.#words += 1;
    return letters === 0 ? 1 : lettersPerToken;
  }

  #takeRare(kind: number | undefined, isRepeated: boolean): void {
    if (kind === backslash) this.#escaped = 1;
    else if (isRepeated) return;
    else if (kind === ideograph) this.#ideographs += 1;
    else this.#unspaced += 1;
  }

  /** The n of `\n` is not a letter of a word, and neither are the digits of `\u00e9`. */
  #skipEscaped(unit: number): void {
    if (this.#escaped === 1 && unit === lowerU) this.#escaped = digitsOfEscape + 1;
    this.#escaped -= 1;
  }
}

function makeKinds(): Uint8Array {
  const table = new Uint8Array(0x1_0000);
  const units = new Uint16Array(table.length);
  for (let unit = 0; unit < units.length; unit += 1) units[unit] = unit;
  const all = new TextDecoder('utf-16le').decode(units);
  // Later kinds override earlier ones. Filled by runs: one by one it would take too long.
  const fill = (pattern: RegExp, kind: number) => {
    for (const { index, 0: row } of all.matchAll(pattern)) table.fill(kind, index, index + row.length);
  };
  fill(/[\p{L}\p{M}\p{N}]+/gu, letter);
  fill(/[[\p{L}\p{M}\p{N}]&&[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}]]+/gv, ideograph);
  fill(
    /[[\p{L}\p{M}\p{N}]&&[\p{scx=Thai}\p{scx=Lao}\p{scx=Tibetan}\p{scx=Myanmar}\p{scx=Khmer}]]+/gv,
    unspaced,
  );
  fill(/['’_\p{Join_Control}\p{Variation_Selector}]+/gu, joiner);
  fill(/\\/g, backslash);
  return table;
}
