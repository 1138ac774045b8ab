/** Builds a value that fits a JSON Schema, deterministically. */

import { isObject } from './fields.ts';

/** Schemas may be recursive: beyond the first depth only required fields are filled in, beyond the second nothing. */
const fullDepth = 5;
const maxDepth = 20;

export function sample(schema: unknown): unknown {
  return sampleAt(schema, schema, 0);
}

function sampleAt(schema: unknown, root: unknown, depth: number): unknown {
  if (!isObject(schema) || depth > maxDepth) return null;
  if ('const' in schema) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0] ?? null;
  if (typeof schema.$ref === 'string') return sampleAt(resolve(schema.$ref, root), root, depth + 1);
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(alternatives)) {
    // Beyond the full depth the last alternative is used, which is usually `null`.
    return sampleAt(alternatives[depth < fullDepth ? 0 : alternatives.length - 1], root, depth + 1);
  }
  if (Array.isArray(schema.allOf)) {
    return Object.assign({}, ...schema.allOf.map((part) => sampleAt(part, root, depth + 1)));
  }
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === 'object' || isObject(schema.properties)) return sampleObject(schema, root, depth);
  if (type === 'array') return sampleArray(schema, root, depth);
  if (type === 'string') return sampleString(schema);
  if (type === 'integer' || type === 'number') return sampleNumber(schema);
  if (type === 'boolean') return true;
  return null;
}

function sampleObject(schema: Record<string, unknown>, root: unknown, depth: number): unknown {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  const names = depth < fullDepth ? Object.keys(properties) : required.map(String);
  return Object.fromEntries(names.map((name) => [name, sampleAt(properties[name], root, depth + 1)]));
}

function sampleArray(schema: Record<string, unknown>, root: unknown, depth: number): unknown {
  const minItems = typeof schema.minItems === 'number' ? schema.minItems : 0;
  const count = Math.max(minItems, depth < fullDepth ? 1 : 0);
  return Array.from({ length: Math.min(count, 100) }, () => sampleAt(schema.items, root, depth + 1));
}

function sampleString({ format, minLength, maxLength }: Record<string, unknown>): string {
  if (format === 'date') return '2026-11-01';
  if (format === 'date-time') return '2026-11-01T12:00:00Z';
  if (format === 'email') return 'sample@example.com';
  if (format === 'uri') return 'https://example.com/';
  const padded = 'sample'.padEnd(typeof minLength === 'number' ? Math.min(minLength, 10_000) : 0, '.');
  return typeof maxLength === 'number' ? padded.slice(0, maxLength) : padded;
}

function sampleNumber({ minimum, maximum }: Record<string, unknown>): number {
  if (typeof minimum === 'number') return minimum;
  return typeof maximum === 'number' ? Math.min(1, maximum) : 1;
}

function resolve(reference: string, root: unknown): unknown {
  let found = root;
  for (const name of reference.split('/').slice(1)) found = isObject(found) ? found[name] : undefined;
  return found;
}
