/** Looks into JSON that a client sent, and refuses what does not belong there. */

import { BadRequest } from './errors.ts';

export type Fields = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function readObject(value: unknown, path: string): Fields {
  if (!isObject(value)) throw new BadRequest('An object is expected.', path);
  return value;
}

export function readArray(value: unknown, path: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new BadRequest('An array is expected.', path);
  return value;
}

export function readString(value: unknown, path: string): string {
  if (typeof value !== 'string') throw new BadRequest('A string is expected.', path);
  return value;
}

export function readOptionalString(value: unknown, path: string): string | undefined {
  return value === undefined ? undefined : readString(value, path);
}

/** The body of a request: an object without fields that the vendor does not document. */
export function readBody(body: unknown, known: ReadonlySet<string>): Fields {
  if (!isObject(body)) throw new BadRequest('The body must be a JSON object.', null);
  refuseUnknown(body, known, '');
  return body;
}

/** A vendor that passes over a field it does not know hides a mistake; those spoken here do not. */
export function refuseUnknown(object: Fields, known: ReadonlySet<string>, path: string): void {
  for (const name in object) {
    if (known.has(name)) continue;
    throw new BadRequest(`Unknown field "${name}".`, path === '' ? name : `${path}.${name}`);
  }
}
