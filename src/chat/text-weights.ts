/**
 * The most tokens that a text can have, from its characters alone. A token covers at least one byte of what the
 * tokenizer is given, and that can be longer than what was sent: some tokenizers normalise first, and servers write
 * the texts around tools as JSON. So each UTF-16 unit weighs as many bytes as its longest form takes.
 * docs/token-bounds.md explains why this is safe.
 */

export type Weights = Readonly<{
  /** By UTF-16 unit. A surrogate pair has the weight of its first half; request bodies hold no lone halves. */
  units: Uint8Array;
  /** What a number with an exponent weighs in addition. */
  exponent: number;
}>;

const plus = 0x2b;
const minus = 0x2d;
const upperE = 0x45;
const lowerE = 0x65;

/** The most that a unit can weigh: U+FDFA has three bytes, and 33 in a compatibility form. */
export const heaviestUnit = 33;

/** The weight of a text up to `end`. Once it exceeds the limit, any number will do. */
export function weigh(text: string, { units, exponent }: Weights, end: number, limit: number): number {
  let weight = 0;
  for (let place = 0; place < end && weight <= limit; place += 1) {
    const unit = text.charCodeAt(place);
    weight += units[unit] ?? heaviestUnit;
    if ((unit === lowerE || unit === upperE) && isExponent(text, place)) weight += exponent;
  }
  return weight;
}

/** When rewritten, `1e20` becomes `100000000000000000000.0`, and `1e-6` becomes `0.000001`. */
function isExponent(text: string, place: number): boolean {
  const next = text.charCodeAt(place + 1);
  return isDigit(text.charCodeAt(place - 1)) && (isDigit(next) || next === plus || next === minus);
}

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
}

/** Where characters can have a longer decomposition. Hangul has one too, but is always composed again. */
const decomposableRanges = [
  [0x80, 0x3400],
  [0xf900, 0x1_0000],
] as const;

/** First halves of surrogate pairs, and the longest decomposition of the characters that start with them. */
const longPairs = [
  [0xd801, 6],
  [0xd804, 8],
  [0xd805, 8],
  [0xd806, 8],
  [0xd818, 12],
  [0xd81b, 12],
  [0xd834, 12],
  [0xd83c, 9],
] as const;

const plainUnits = makePlainUnits();
const quotedUnits = makeQuotedUnits();

/** Text that goes into a prompt as it is. */
export const plainWeights: Weights = { units: plainUnits, exponent: 0 };
/** Text that may be written as a JSON string, or is JSON that may be parsed and written again. */
export const quotedWeights: Weights = { units: quotedUnits, exponent: 20 };
/** The same for JSON whose names may become tags: `<parameter name="…">…</parameter>`. */
export const argumentWeights: Weights = { units: withUnits(quotedUnits, ':', 16), exponent: 20 };

function makePlainUnits(): Uint8Array {
  const units = new Uint8Array(0x1_0000).fill(3);
  units.fill(1, 0, 0x80);
  units.fill(2, 0x80, 0x800);
  units.fill(4, 0xd800, 0xdc00);
  units.fill(0, 0xdc00, 0xe000);
  for (const [first, weight] of longPairs) units[first] = weight;
  for (const [from, to] of decomposableRanges) {
    for (let unit = from; unit < to; unit += 1) units[unit] = Math.max(units[unit] ?? 0, maxForm(unit));
  }
  return units;
}

function maxForm(unit: number): number {
  const text = String.fromCharCode(unit);
  return Math.max(Buffer.byteLength(text.normalize('NFD')), Buffer.byteLength(text.normalize('NFKD')));
}

function makeQuotedUnits(): Uint8Array {
  // Beyond ASCII `\u00e9`, twice for a pair. Control characters, and those of HTML, are written the same way.
  const escaped = plainUnits
    .map((weight, unit) => (unit < 0x80 ? weight : Math.max(weight, 6)))
    .fill(6, 0, 0x20);
  const marked = withUnits(withUnits(escaped, "<>&'", 6), '"\\\b\t\n\f\r', 2);
  // A space after it, and `.0` after a number before it.
  return withUnits(marked, ',:', 4);
}

function withUnits(units: Uint8Array, characters: string, weight: number): Uint8Array {
  const changed = Uint8Array.from(units);
  for (const character of characters) changed[character.charCodeAt(0)] = weight;
  return changed;
}
