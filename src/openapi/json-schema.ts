/** JSON Schema for OpenAPI 3.1, made from the zod schemas that requests and responses are checked with. */
import { z } from 'zod';

export type JsonSchema = Readonly<{ [keyword: string]: unknown }>;

/**
 * zod's own metadata of a schema, plus the names that only the document uses: the modules that own the schemas do not
 * see them.
 */
class NamedSchemas extends z.core.$ZodRegistry<z.core.GlobalMeta> {
  override get<Schema extends z.core.$ZodType>(schema: Schema) {
    const known = z.globalRegistry.get(schema);
    return this.has(schema) ? { ...known, ...super.get(schema) } : known;
  }
}

const named = new NamedSchemas();

export function nameSchema(schema: z.core.$ZodType, id: string): void {
  named.add(schema, { id });
}

function convert(schema: z.core.$ZodType) {
  return z.toJSONSchema(schema, {
    io: 'input',
    metadata: named,
    override: ({ zodSchema, jsonSchema }) => {
      const discriminator = discriminatorOf(zodSchema);
      if (discriminator !== null) jsonSchema.discriminator = discriminator;
    },
  });
}

/**
 * How generated clients tell the alternatives of a union apart, which some cannot do by the constants of a field. OpenAPI
 * allows it for named alternatives only.
 */
function discriminatorOf(schema: z.core.$ZodType) {
  if (!(schema instanceof z.ZodDiscriminatedUnion)) return null;
  const { discriminator: propertyName } = schema._zod.def;
  const mapping: Record<string, string> = {};
  for (const option of schema.options) {
    const id = named.get(option)?.id;
    if (id === undefined) return null;
    for (const value of option._zod.propValues?.[propertyName] ?? [])
      mapping[String(value)] = `#/components/schemas/${id}`;
  }
  return { propertyName, mapping };
}

/** Every schema that has an ID, by that ID; they refer to each other as components of the document. */
export function componentsOf(
  schemas: readonly z.core.$ZodType[],
  direction: 'input' | 'output',
): Record<string, JsonSchema> {
  const all = convert(z.tuple(schemas as [z.core.$ZodType, ...z.core.$ZodType[]]));
  const components: Record<string, JsonSchema> = {};
  for (const [id, schema] of Object.entries(all.$defs ?? {}))
    components[id] = tidy(schema, direction) as JsonSchema;
  return components;
}

/** A schema on its own, to be used inline. */
export function schemaOf(schema: z.core.$ZodType): JsonSchema {
  const { $schema: _, ...rest } = tidy(convert(schema), 'output') as JsonSchema;
  return rest;
}

/**
 * Leaves out what is true but of no use to a reader, and lets responses grow: a client that rejects unknown fields would
 * break when one is added. A field that is always null is an enumeration of null: openapi-generator takes the type `null`
 * outside a choice for the name of a model, and generates a client that does not compile.
 */
function tidy(value: unknown, direction: 'input' | 'output'): unknown {
  if (Array.isArray(value)) return value.map((item) => tidy(item, direction));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value)
    .filter(
      ([keyword, content]) =>
        !(keyword === 'maximum' && content === Number.MAX_SAFE_INTEGER) &&
        !(keyword === 'minimum' && content === Number.MIN_SAFE_INTEGER) &&
        !(keyword === 'additionalProperties' && content === false && direction === 'output') &&
        keyword !== 'propertyNames',
    )
    .map(([keyword, content]) => [
      keyword,
      keyword === '$ref'
        ? String(content).replace('#/$defs/', '#/components/schemas/')
        : keyword === 'properties'
          ? propertiesOf(content as Record<string, JsonSchema>, direction)
          : tidy(content, direction),
    ]);
  return Object.fromEntries(entries);
}

function propertiesOf(properties: Record<string, JsonSchema>, direction: 'input' | 'output') {
  const entries = Object.entries(properties).map(([name, schema]) => {
    const { type, ...rest } = schema;
    return [name, tidy(type === 'null' ? { enum: [null], ...rest } : schema, direction)];
  });
  return Object.fromEntries(entries);
}

/** A reference to the component of a schema, or to those of its alternatives. */
export function referenceTo(schema: z.core.$ZodType): JsonSchema {
  const id = named.get(schema)?.id;
  if (id !== undefined) return { $ref: `#/components/schemas/${id}` };
  if (schema instanceof z.ZodUnion) return { anyOf: schema.options.map(referenceTo) };
  throw new TypeError('A schema of the document has neither an ID nor alternatives.');
}
