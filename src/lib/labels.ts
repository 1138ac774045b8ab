/**
 * The words that customers have for whom their requests are for: end users, sessions and tags. They are stored, searched for
 * and shown, so they are bounded and printable.
 */
export const maxEndUserCharacters = 256;
export const maxSessionCharacters = 256;
export const maxTags = 10;
export const maxTagNameCharacters = 64;
export const maxTagValueCharacters = 256;

export type Tag = readonly [name: string, value: string];

/**
 * Whether a text can be stored, searched for and shown: without what would break a line, end a cell, or turn the order of
 * the text around it.
 */
export function isLabel(text: string, maxCharacters: number): boolean {
  return text.length <= maxCharacters && labelPattern.test(text) && text.trim() !== '';
}

const labelPattern = /^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+$/u;

/** Null when it is not name=value. A value may contain further equals signs. */
export function readTag(pair: string): Tag | null {
  const end = pair.indexOf('=');
  return end < 0 ? null : tagOf(pair.slice(0, end), pair.slice(end + 1));
}

/** Null when one of the two cannot be part of a tag. */
export function tagOf(name: string, value: string): Tag | null {
  const tag = [name.trim(), value.trim()] as const;
  const isTag =
    isLabel(tag[0], maxTagNameCharacters) && isLabel(tag[1], maxTagValueCharacters) && !/[=,]/.test(tag[0]);
  return isTag ? tag : null;
}
