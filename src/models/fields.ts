/** The building blocks of the catalogue's schemas. Each describes what it expects; errors add what was there instead. */
import { z } from 'zod';
import type { Path } from './catalog-yaml.ts';

/** `isSecret` keeps the value out of the message, because messages are logged and a key may be in the wrong field. */
export type Reading<Value> = Readonly<{ value: Value }> | Readonly<{ expected: string; isSecret?: boolean }>;

/** A schema for one value: `read` returns the value, or what it expected. */
export function field<Value>(read: (input: unknown) => Reading<Value>) {
  return z.unknown().transform((input, context): Value => {
    const reading = read(input);
    if ('value' in reading) return reading.value;
    const message = reading.isSecret ? `expected ${reading.expected}` : mismatch(reading.expected, input);
    context.issues.push({ code: 'custom', message, input });
    return z.NEVER;
  });
}

/** A mapping with exactly these fields; any other is reported by name. */
export function fields<Shape extends z.core.$ZodLooseShape>(shape: Shape, expected?: string) {
  const names = Object.keys(shape).join(', ');
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `unknown field, expected one of ${names}`
        : mismatch(expected ?? `a mapping with the fields ${names}`, issue.input),
  });
}

/** A mapping whose names the operator chooses. */
export function namedEntries<Value extends z.core.SomeType>(
  what: string,
  name: z.core.SomeType,
  value: Value,
) {
  return z.map(name as z.ZodType<string>, value, {
    error: (issue) => mismatch(`a mapping of ${what}`, issue.input),
  });
}

export function listOf<Item extends z.core.SomeType>(what: string, item: Item) {
  return z.array(item, { error: (issue) => mismatch(`a list of ${what}`, issue.input) });
}

/** A list without duplicates. */
export function withoutRepeats<Item extends string>(what: string, item: z.ZodType<Item>) {
  return listOf(what, item).transform((items, context) => {
    items.forEach((one, index) => {
      if (items.indexOf(one) < index) report(context, [index], `${one} is listed twice`);
    });
    return items;
  });
}

export function matching(pattern: RegExp, expected: string) {
  return field((input) =>
    typeof input === 'string' && pattern.test(input) ? { value: input } : { expected },
  );
}

/** Text that a person reads: not empty, one line. */
export function plainText(maxLength: number) {
  return matching(
    new RegExp(`^(?! )[^\\p{Cc}]{1,${maxLength}}(?<! )$`, 'u'),
    `one line of text of at most ${maxLength} characters`,
  );
}

export function oneOf<const Choice extends string>(...choices: readonly Choice[]) {
  const expected = choices.length === 1 ? `${choices[0]}` : `one of ${choices.join(', ')}`;
  return field<Choice>((input) => {
    const value = choices.find((choice) => choice === input);
    return value === undefined ? { expected } : { value };
  });
}

export function wholeNumber(min: number, max: number = Number.MAX_SAFE_INTEGER) {
  const expected =
    max === Number.MAX_SAFE_INTEGER
      ? `a whole number of at least ${min}`
      : `a whole number from ${min} to ${max}`;
  return field((input) =>
    typeof input === 'number' && Number.isSafeInteger(input) && input >= min && input <= max
      ? { value: input }
      : { expected },
  );
}

export const trueOrFalse = field((input) =>
  typeof input === 'boolean' ? { value: input } : { expected: 'true or false' },
);

/** Reports a fault that depends on several fields. */
export function report(context: z.core.$RefinementCtx, path: Path, message: string): void {
  context.issues.push({ code: 'custom', message, path: [...path], input: undefined });
}

type Fault = Readonly<{ path: Path; message: string }>;

/** Reads a value with another schema, and reports its faults as if they had been found here. */
export function readWith<Value>(
  schema: z.ZodType<Value>,
  input: unknown,
  context: z.core.$RefinementCtx,
): Value {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  for (const { path, message } of faultsOf(result.error)) report(context, path, message);
  return z.NEVER;
}

/** Every fault a schema found, with one for each unknown field. */
export function faultsOf(error: z.core.$ZodError): Fault[] {
  return error.issues.flatMap((issue) => {
    const path = issue.path.map((step) => (typeof step === 'number' ? step : String(step)));
    if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message }];
    return issue.keys.map((key) => ({ path: [...path, key], message: issue.message }));
  });
}

export function mismatch(expected: string, input: unknown): string {
  return input === undefined
    ? `missing, expected ${expected}`
    : `expected ${expected}, got ${describe(input)}`;
}

/** What `mismatch` expected, without what was there instead. */
export function withoutValue(message: string): string {
  const [expected = message] = message.split(', got ');
  return expected;
}

function describe(input: unknown): string {
  if (input === null) return 'nothing';
  if (typeof input === 'string') return JSON.stringify(input.length > 60 ? `${input.slice(0, 60)}…` : input);
  if (typeof input === 'number' || typeof input === 'bigint') return `the number ${input}`;
  if (typeof input === 'boolean') return `${input}`;
  return Array.isArray(input) ? 'a list' : 'a mapping';
}
