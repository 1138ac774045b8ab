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

/** `values` counts what opens or separates values; `depth` is how deeply lists and objects are nested. */
export type JsonExtent = Readonly<{ values: number; depth: number }>;

/** Stops as soon as `max` is exceeded. The contents of strings do not count. */
export function measureJson(text: string, max: JsonExtent): JsonExtent {
  let values = 0;
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case quote:
        at = endOfString(text, at);
        break;
      case openBracket:
      case openBrace:
        if (++depth > deepest) deepest = depth;
        values++;
        break;
      case closeBracket:
      case closeBrace:
        depth--;
        break;
      case comma:
      case colon:
        values++;
        break;
    }
    if (values > max.values || deepest > max.depth) break;
  }
  return { values, depth: deepest };
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
