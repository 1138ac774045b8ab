/**
 * What a JSON text is made of, found out without making anything of it: a parser builds values of whatever it is given,
 * and 20 MB of opening brackets become 20 million lists. The text need not be JSON for any of this.
 */
const quote = 34;
const comma = 44;
const colon = 58;
const backslash = 92;

const openBracket = 91;
const closeBracket = 93;
const openBrace = 123;
const closeBrace = 125;

/** `values` counts all that begins or separates one; `depth` is how many lists and objects are inside each other. */
export type JsonExtent = Readonly<{ values: number; depth: number }>;

/** Stops as soon as there is more of something than `most` allows. What stands in strings does not count. */
export function measureJson(text: string, most: JsonExtent): JsonExtent {
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
    if (values > most.values || deepest > most.depth) break;
  }
  return { values, depth: deepest };
}

/** The quote that closes the string opened at `open`, or the end of the text. Hops from quote to quote. */
export function endOfString(text: string, open: number): number {
  let close = text.indexOf('"', open + 1);
  while (close >= 0 && isEscaped(text, close, open + 1)) close = text.indexOf('"', close + 1);
  return close < 0 ? text.length : close;
}

/** Whether an odd number of backslashes stands before this place, none of them before `from`. */
export function isEscaped(text: string, place: number, from: number): boolean {
  let before = place;
  while (before > from && text.charCodeAt(before - 1) === backslash) before--;
  return (place - before) % 2 === 1;
}
