/**
 * Fields of an answer that tell about the provider's side, or about the operator's account there. No client gets them, in
 * whichever format.
 */
import { type Fields, isObject } from './wire.ts';

const words = ['organization', 'workspace', 'account', 'project', 'billing', 'container'];

/** They belong to the formats: they say what an event or item refers to. */
const publicIds: ReadonlySet<string> = new Set([
  'tool_use_id',
  'call_id',
  'item_id',
  'response_id',
  'previous_response_id',
  'approval_request_id',
]);

const anyWord = new RegExp(words.join('|'));

function isPrivate(name: string): boolean {
  return (/[_-]id$/.test(name) && !publicIds.has(name)) || anyWord.test(name);
}

/**
 * How the names of private fields look in JSON. It also finds words in texts: an expression that tells them apart would take
 * the square of a text's length.
 */
export const privateFieldPattern = `[_-]id"|${words.join('|')}`;

/**
 * The other fields; those of the objects in `inner` too. No others are looked into: what a model or a client wrote may have
 * any names.
 */
export function publicFields(fields: Fields, inner: readonly string[] = []): Record<string, unknown> {
  const shown: Record<string, unknown> = { ...fields };
  for (const name in shown) if (isPrivate(name)) delete shown[name];
  for (const name of inner) if (isObject(shown[name])) shown[name] = publicFields(shown[name]);
  return shown;
}
