/** Google's schema dialect: a subset of OpenAPI's keywords. Documented at ai.google.dev/api/caching#Schema. */

import { BadRequest } from './errors.ts';
import { type Fields, readArray, readObject, rejectUnknown } from './fields.ts';

const knownFields = new Set([
  'anyOf',
  'default',
  'description',
  'enum',
  'example',
  'format',
  'items',
  'maximum',
  'maxItems',
  'maxLength',
  'maxProperties',
  'minimum',
  'minItems',
  'minLength',
  'minProperties',
  'nullable',
  'pattern',
  'properties',
  'propertyOrdering',
  'required',
  'title',
  'type',
]);
const types = new Set(['string', 'number', 'integer', 'boolean', 'array', 'object', 'null']);

/** Converts it to JSON Schema, which differs only in the case of its types. */
export function readSchema(value: unknown, path: string): Fields {
  const schema = readObject(value, path);
  rejectUnknown(schema, knownFields, path);
  const { type, items, anyOf, properties } = schema;
  if (type !== undefined && !(typeof type === 'string' && types.has(type.toLowerCase()))) {
    throw new BadRequest('Unknown type.', `${path}.type`);
  }
  const read: Record<string, unknown> = { ...schema };
  if (typeof type === 'string') read.type = type.toLowerCase();
  if (items !== undefined) read.items = readSchema(items, `${path}.items`);
  if (anyOf !== undefined) {
    read.anyOf = readArray(anyOf, `${path}.anyOf`).map((one, index) =>
      readSchema(one, `${path}.anyOf[${index}]`),
    );
  }
  if (properties !== undefined) {
    const entries = Object.entries(readObject(properties, `${path}.properties`));
    read.properties = Object.fromEntries(
      entries.map(([name, one]) => [name, readSchema(one, `${path}.properties.${name}`)]),
    );
  }
  return read;
}
