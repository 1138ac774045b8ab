/**
 * Duplicate keys. JSON.parse silently keeps the last of them, so a parser that keeps the first would see another request
 * than the one that was checked and priced. They are found by counting: a text with more keys than the parsed tree has
 * duplicates.
 */

import type { JsonPath } from './path.ts';
import { endOfString } from './scan.ts';

function afterSpace(text: string, start: number): number {
  let at = start;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return at;
    at++;
  }
}

/** `keys` is null in a list, whose steps are numbers. */
type Frame = { keys: Set<string> | null; step: string | number };

/** Characters outside of strings, and strings. More would take longer than everything done with the body before. */
const maxSteps = 10_000;

/** The path of the first duplicate; null when there is none near the start. Only for JSON of bounded depth. */
export function findDuplicateKey(text: string): JsonPath | null {
  const frames: Frame[] = [];
  for (let at = 0, steps = 0; at < text.length && steps < maxSteps; at++, steps++) {
    const frame = frames.at(-1);
    const character = text[at];
    if (character === '"') {
      const end = endOfString(text, at);
      const next = afterSpace(text, end + 1);
      if (text[next] === ':' && frame?.keys) {
        const key = keyWritten(text.slice(at, end + 1));
        frame.step = key;
        if (frame.keys.has(key)) return frames.map(({ step }) => step);
        frame.keys.add(key);
      }
      at = end;
    } else if (character === '{' || character === '[') {
      frames.push(character === '{' ? { keys: new Set(), step: '' } : { keys: null, step: 0 });
    } else if (character === '}' || character === ']') {
      frames.pop();
    } else if (character === ',' && typeof frame?.step === 'number') {
      frame.step++;
    }
  }
  return null;
}

/** Escapes are decoded: "a" and "\u0061" are one key. */
function keyWritten(literal: string): string {
  return literal.includes('\\') ? String(JSON.parse(literal)) : literal.slice(1, -1);
}
