/**
 * The way in for JSON from outside, whether from a client or a provider: measured first, and parsed only within bounds. A
 * parser turns 20 MB of opening brackets into 20 million lists, and blocks everyone for seconds on the way.
 */
import { type JsonExtent, measureJson } from './scan.ts';

/** The text exceeds a limit. Nothing is parsed beyond it. `path` is where, if that is known. */
export class JsonLimitError extends Error {
  override readonly name = 'JsonLimitError';
  readonly limit: keyof JsonExtent | 'digits';
  readonly path: readonly (string | number)[];

  constructor(limit: JsonLimitError['limit'], path: JsonLimitError['path'] = []) {
    super(`Too much: ${limit}.`);
    this.limit = limit;
    this.path = path;
  }
}

/** `source` is how a primitive value is written. TypeScript's library does not describe it yet. */
type Reviver = (name: string, value: unknown, context: { source: string }) => unknown;
const json = JSON as unknown as { parse: (text: string, revive?: Reviver) => unknown };

/**
 * Throws a JsonLimitError, or a SyntaxError. `keys` is how many the text holds, duplicates included.
 * `reviverFor` is asked only for a text within the limits.
 */
export function parseBoundedJson(
  text: string,
  max: JsonExtent,
  reviverFor?: (text: string) => Reviver | undefined,
): Readonly<{ value: unknown; keys: number }> {
  const extent = measureJson(text, max);
  for (const limit of ['depth', 'values', 'keys'] as const)
    if (extent[limit] > max[limit]) throw new JsonLimitError(limit);
  return { value: json.parse(text, reviverFor?.(text)), keys: extent.totalKeys };
}
