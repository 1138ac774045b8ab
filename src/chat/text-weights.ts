/**
 * How many tokens a text can make at most, from its characters alone. A token covers at least one byte of what the
 * tokenizer is given, and that can be longer than what was sent: some tokenizers normalise first, and servers write
 * the texts around tools as JSON. So each UTF-16 unit weighs as many bytes as the longest of these forms takes for it.
 * docs/token-bounds.md says why this is safe.
 */

export type Weights = Readonly<Uint8Array>;

/** What a text weighs, but no more than about the limit: beyond it there is nothing to find out. */
export function weigh(text: string, weights: Weights, limit: number): number {
  const scanned = Math.min(text.length, mostUnitsScanned);
  let weight = (text.length - scanned) * heaviest;
  for (let place = 0; place < scanned && weight < limit; place += 1) {
    weight += weights[text.charCodeAt(place)] ?? heaviest;
  }
  return weight;
}

/** Enough for every context window there is. What is longer is counted at its worst, which takes no time. */
const mostUnitsScanned = 4_000_000;
/** U+FDFA: three bytes, and 33 in a compatibility form. */
const heaviest = 33;

/** Where characters can have a decomposition that lengthens them. Hangul is not there: it is always composed again. */
const decomposableRanges = [
  [0x80, 0x3400],
  [0xf900, 0x1_0000],
] as const;

/** First halves of pairs, and the longest decomposition of the characters that begin with them. */
const longAstralForms = [
  [0xd801, 6],
  [0xd804, 8],
  [0xd805, 8],
  [0xd806, 8],
  [0xd818, 12],
  [0xd81b, 12],
  [0xd834, 12],
  [0xd83c, 9],
] as const;

/** Text that stands in a prompt as it is. */
export const plainWeights: Weights = makePlainWeights();
/** Text that may be written as a string of JSON, or as JSON that is read and written again. */
export const quotedWeights: Weights = makeQuotedWeights();
/** JSON whose names may become tags: `<parameter name="…">…</parameter>`. */
export const argumentWeights: Weights = makeArgumentWeights();

function makePlainWeights(): Uint8Array {
  const weights = new Uint8Array(0x1_0000).fill(3);
  weights.fill(1, 0, 0x80);
  weights.fill(2, 0x80, 0x800);
  // A pair weighs what its first half says, and the body holds no half pairs.
  weights.fill(4, 0xd800, 0xdc00);
  weights.fill(0, 0xdc00, 0xe000);
  for (const [first, weight] of longAstralForms) weights[first] = weight;
  for (const [from, to] of decomposableRanges) {
    for (let unit = from; unit < to; unit += 1) {
      const text = String.fromCharCode(unit);
      const longest = Math.max(bytesAs('NFD', text), bytesAs('NFKD', text));
      weights[unit] = Math.max(weights[unit] ?? 0, longest);
    }
  }
  return weights;
}

function bytesAs(form: 'NFD' | 'NFKD', text: string): number {
  return Buffer.byteLength(text.normalize(form));
}

function makeQuotedWeights(): Uint8Array {
  // Beyond ASCII `\u00e9`; a character outside the first plane is two of these.
  const weights = Uint8Array.from(plainWeights, (weight, unit) => (unit < 0x80 ? 1 : Math.max(weight, 6)));
  // Control characters, and what is escaped so that JSON can stand in HTML.
  weights.fill(6, 0, 0x20);
  for (const character of "<>&'") weights[character.charCodeAt(0)] = 6;
  for (const character of '"\\\b\t\n\f\r') weights[character.charCodeAt(0)] = 2;
  // A space after it, and `.0` after the number before it.
  for (const character of ',:') weights[character.charCodeAt(0)] = 4;
  return weights;
}

function makeArgumentWeights(): Uint8Array {
  const weights = Uint8Array.from(quotedWeights);
  weights[':'.charCodeAt(0)] = 16;
  return weights;
}
