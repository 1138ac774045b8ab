/**
 * The fewest tokens that a text has with any public tokenizer, for charges that have to be estimated. It is counted in
 * one pass, in pieces of any size. docs/token-bounds.md has the rule, the measurements, and what is guaranteed.
 */

/** What a UTF-16 unit is: a letter of a word, a letter that makes up for words, or one of the others. */
const other = 0;
const letter = 1;
/** Scripts that write no spaces between words. */
const ideograph = 2;
const unspaced = 3;
/** Part of a word, but no beginning of one. */
const joiner = 4;
const backslash = 5;

const kinds = makeKinds();

const lowerU = 0x75;
const digitsOfEscape = 4;

/** A longer word is at least this many letters for each token. A letter that is repeated counts once. */
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

  /** Looks at the text up to `end`. It continues the one before, so that a word may come in pieces. */
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
        if (letters === 0 || unit !== last) letters = this.#withLetter(letters);
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

  /** `\n` is no letter of a word, and neither are the digits of `\u00e9`. */
  #skipEscaped(unit: number): void {
    if (this.#escaped === 1 && unit === lowerU) this.#escaped = digitsOfEscape + 1;
    this.#escaped -= 1;
  }
}

function makeKinds(): Uint8Array {
  const table = new Uint8Array(0x1_0000);
  const isLetter = /[\p{L}\p{M}\p{N}]/u;
  for (let unit = 0; unit < 0x1_0000; unit += 1) {
    const isHalf = unit >= 0xd800 && unit < 0xe000;
    if (!isHalf && isLetter.test(String.fromCharCode(unit))) table[unit] = kindOfLetter(unit);
  }
  // Apostrophes, the underscore, invisible joiners and variation selectors.
  for (const unit of [0x27, 0x2019, 0x5f, 0x200c, 0x200d]) table[unit] = joiner;
  table.fill(joiner, 0xfe00, 0xfe10);
  table[0x5c] = backslash;
  return table;
}

function kindOfLetter(unit: number): number {
  const isIn = (from: number, to: number) => unit >= from && unit <= to;
  // Kana, Chinese characters and their compatibility forms.
  if (isIn(0x3040, 0x30ff) || isIn(0x31f0, 0x31ff) || isIn(0x3400, 0x9fff) || isIn(0xf900, 0xfaff))
    return ideograph;
  // Thai, Lao, Tibetan, Burmese and Khmer.
  if (isIn(0x0e00, 0x0fff) || isIn(0x1000, 0x109f) || isIn(0x1780, 0x17ff)) return unspaced;
  return letter;
}
