/** A JSON number kept as the text it is printed as, so that no float stands between a decimal and the wire. */
export type RawJson = Readonly<{ rawJSON: string }>;

// TypeScript's library does not describe JSON.rawJSON yet.
const json = JSON as JSON & { rawJSON(text: string): RawJson };

/** Prints as `text`, unquoted, when it is serialized. Throws when `text` is not a JSON primitive. */
export function rawJson(text: string): RawJson {
  return json.rawJSON(text);
}
