/** JSON that a person types. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value, or what is wrong with the text. */
export function parseJson(text: string): Readonly<{ value: unknown; problem: string | null }> {
  try {
    return { value: JSON.parse(text), problem: null };
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'it cannot be read';
    return { value: null, problem: `This is not JSON: ${reason}` };
  }
}
