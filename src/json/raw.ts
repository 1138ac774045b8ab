/** A JSON number as the text to print, so that no float comes between a decimal and the wire. */
export type RawJson = Readonly<{ rawJSON: string }>;

// TypeScript's library does not describe JSON.rawJSON yet.
const json = JSON as JSON & { rawJSON(text: string): RawJson; isRawJSON(value: unknown): boolean };

/** Prints as `text`, unquoted, when it is serialized. Throws when `text` is not a JSON primitive. */
export function rawJson(text: string): RawJson {
  return json.rawJSON(text);
}

export function isRawJson(value: unknown): boolean {
  return json.isRawJSON(value);
}
