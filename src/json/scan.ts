/**
 * Measures a JSON text without parsing it: a parser would turn 20 MB of opening brackets into 20 million lists. The text
 * need not be valid JSON.
 */
const quote = 34;
const comma = 44;
const colon = 58;
const backslash = 92;
const openBracket = 91;
const closeBracket = 93;
const openBrace = 123;
const closeBrace = 125;

/** An object of more keys than this takes several times as long to parse and to walk as smaller ones. */
export const ordinaryKeys = 64;

/**
 * `values` counts what opens or separates values, `depth` is how deeply lists and objects are nested, and `keys` counts
 * the keys that objects have beyond their first 64, in all of them together.
 */
export type JsonExtent = Readonly<{ values: number; depth: number; keys: number }>;

/** `totalKeys` counts every key. */
export type MeasuredJson = JsonExtent & Readonly<{ totalKeys: number }>;

const unlimited = Number.POSITIVE_INFINITY;

/** Stops as soon as a limit is exceeded. The contents of strings do not count. */
export function measureJson(
  text: string,
  {
    values: maxValues = unlimited,
    depth: maxDepth = unlimited,
    keys: maxKeys = unlimited,
  }: Partial<JsonExtent>,
): MeasuredJson {
  let values = 0;
  let depth = 0;
  let deepest = 0;
  let keys = 0;
  let totalKeys = 0;
  /** The number of keys of each object that is still open, by its depth. */
  const keysAt: number[] = [];
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case quote:
        at = endOfString(text, at);
        continue;
      case openBracket:
      case openBrace:
        if (++depth > deepest) deepest = depth;
        keysAt[depth] = 0;
        values++;
        break;
      case closeBracket:
      case closeBrace:
        depth--;
        continue;
      case colon: {
        const ownKeys = (keysAt[depth] ?? 0) + 1;
        keysAt[depth] = ownKeys;
        if (ownKeys > ordinaryKeys) keys++;
        totalKeys++;
        values++;
        break;
      }
      case comma:
        values++;
        break;
      default:
        continue;
    }
    if (values > maxValues || deepest > maxDepth || keys > maxKeys) break;
  }
  return { values, depth: deepest, keys, totalKeys };
}

/** The quote that closes the string opened at `open`, or the end of the text. Hops from quote to quote. */
export function endOfString(text: string, open: number): number {
  let close = text.indexOf('"', open + 1);
  while (close >= 0 && isEscaped(text, close, open + 1)) close = text.indexOf('"', close + 1);
  return close < 0 ? text.length : close;
}

/** Whether an odd number of backslashes precedes this position, counting back to `from` at most. */
export function isEscaped(text: string, place: number, from: number): boolean {
  let before = place;
  while (before > from && text.charCodeAt(before - 1) === backslash) before--;
  return (place - before) % 2 === 1;
}
