/** Reads fields of the JSON that a client sent, and rejects invalid ones. */

import { BadRequest } from './errors.ts';

export type Fields = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function readObject(value: unknown, path: string): Fields {
  if (!isObject(value)) throw new BadRequest('Expected an object.', path);
  return value;
}

export function readArray(value: unknown, path: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new BadRequest('Expected an array.', path);
  return value;
}

export function readString(value: unknown, path: string): string {
  if (typeof value !== 'string') throw new BadRequest('Expected a string.', path);
  return value;
}

export function readOptionalString(value: unknown, path: string): string | undefined {
  return value === undefined ? undefined : readString(value, path);
}

/** The body of a request: an object with documented fields only. */
export function readBody(body: unknown, known: ReadonlySet<string>): Fields {
  if (!isObject(body)) throw new BadRequest('The body must be a JSON object.', null);
  rejectUnknown(body, known, '');
  return body;
}

/** Ignoring an unknown field would hide a mistake of the gateway; the real vendors reject it too. */
export function rejectUnknown(object: Fields, known: ReadonlySet<string>, path: string): void {
  for (const name in object) {
    if (known.has(name)) continue;
    throw new BadRequest(`Unknown field "${name}".`, path === '' ? name : `${path}.${name}`);
  }
}
