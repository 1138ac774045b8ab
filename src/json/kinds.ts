import { z } from 'zod';

type KindsDefinition = z.core.$ZodUnionDef &
  Readonly<{
    field: string;
    kinds: ReadonlyMap<unknown, z.core.$ZodType>;
    other: z.core.$ZodType;
  }>;

/**
 * Objects told apart by one of their fields, of which some kinds are not known here. zod's own discriminated union knows no
 * "all others", and a plain union reports the problems of every kind at once.
 */
const Kinds = z.core.$constructor<z.core.$ZodUnion>('Kinds', (union, definition) => {
  z.core.$ZodUnion.init(union, definition);
  const { field, kinds, other } = definition as KindsDefinition;
  union._zod.parse = (payload, context) => {
    const input: unknown = payload.value;
    const isObject = typeof input === 'object' && input !== null && !Array.isArray(input);
    const name = isObject && Object.hasOwn(input, field) ? (input as Record<string, unknown>)[field] : null;
    const result = (kinds.get(name) ?? other)._zod.run({ value: input, issues: [] }, context);
    if (result instanceof Promise) throw new z.core.$ZodAsyncError();
    payload.issues.push(...result.issues);
    payload.value = result.value;
    return payload;
  };
});

/** Whatever is not one of `kinds`, by the value of `field`, has to match `other`. */
export function kindsBy<
  Known extends Readonly<Record<string, z.core.$ZodType>>,
  Other extends z.core.$ZodType,
>(field: string, known: Known, other: Other): z.core.$ZodUnion<readonly (Known[keyof Known] | Other)[]> {
  const kinds = new Map<unknown, z.core.$ZodType>(Object.entries(known));
  const options = [...new Set([...kinds.values(), other])];
  const definition = { type: 'union', options, field, kinds, other };
  return new Kinds(definition as unknown as z.core.$ZodUnionDef) as unknown as z.core.$ZodUnion<
    readonly (Known[keyof Known] | Other)[]
  >;
}
