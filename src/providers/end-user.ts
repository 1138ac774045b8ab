/**
 * Whom a call is for, as a provider gets to know it: an opaque ID in the field that its format has for that. What customers
 * call their end users never leaves.
 */
export const endUserFields = ['safety_identifier', 'user', 'metadata.user_id'] as const;
export type EndUserField = (typeof endUserFields)[number];

type JsonObject = Readonly<Record<string, unknown>>;

export type EndUser = Readonly<{ field: EndUserField; id: string }>;

/** For the body of a call: nothing where the provider is not told. */
export function identityFields(endUser: EndUser | null | undefined): JsonObject {
  if (!endUser) return {};
  const { field, id } = endUser;
  return field === 'metadata.user_id' ? { metadata: { user_id: id } } : { [field]: id };
}

/** Where clients name their end users, in any of the formats that are passed on. */
const clientFields = new Set(['metadata', 'safety_identifier', 'user']);

/** A client's body that is passed on: without what it says about its end user, and with what the provider may know. */
export function identified(body: JsonObject, endUser: EndUser | null | undefined): JsonObject {
  const passed = Object.entries(body).filter(([name]) => !clientFields.has(name));
  return { ...Object.fromEntries(passed), ...identityFields(endUser) };
}
