/** The fields that the dialects have in common on the wire. Each message in here completes the sentence "expected …". */
import { z } from 'zod';
import { isRawJson } from '../json/raw.ts';
import type { JsonObject } from '../providers/chat.ts';

export const text = z.string('a string');
export const textOrNull = z.string('a string or null').nullish();
export const flagOrNull = z.boolean('true, false or null').nullish();

export function nonEmptyText(expected = 'a non-empty string') {
  return z.string(expected).min(1, expected);
}

const functionName = 'a name of 1 to 64 letters, digits, underscores or dashes';

export function nameText() {
  return z.string(functionName).regex(/^[a-zA-Z0-9_-]{1,64}$/, functionName);
}

export function wholeNumber(min: number, expected: string) {
  return z.int(expected).min(min, expected).max(2_147_483_647, expected);
}

/** A number whose digits are kept is an object too, but not one of JSON. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawJson(value);
}

/**
 * A client's JSON, such as a schema, is data: it is neither read nor copied, so its names can do no harm. A record would
 * copy it, and lose `__proto__`.
 */
export const jsonObject = z
  .unknown()
  .refine(isObject, 'an object')
  .meta({ type: 'object' }) as unknown as z.ZodType<JsonObject>;

/** The length that browsers and servers agree on. The URL parser takes minutes for a host of 20 MB. */
const maxUrl = 8_192;
export const imageUrl = `an https:// URL of up to ${maxUrl} characters without credentials, or data:image/…;base64,…`;
const dataUrlHead = /^data:image\/[a-z0-9.+-]{1,64};base64,/i;

/** Only the head of a data URL is looked at: the rest can be megabytes, and only the provider decodes it. */
export function isImageUrl(url: string): boolean {
  const head = dataUrlHead.exec(url.slice(0, 100));
  if (head !== null) return url.length > head[0].length;
  // The URL parser would drop spaces and line breaks, and so check a different text than the one that is passed on.
  if (url.length > maxUrl || !/^https:\/\//i.test(url) || /[\s\p{Cc}]/u.test(url)) return false;
  const parsed = URL.parse(url);
  return parsed !== null && parsed.username === '' && parsed.password === '';
}
