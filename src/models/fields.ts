/**
 * The pieces the catalogue's schemas are made of. Each says in words what it expects, and a refusal always adds
 * what it got instead.
 */
import { z } from 'zod';
import type { Path } from './catalog-yaml.ts';

/** `isSecret` keeps the value out of the refusal, because refusals are logged and a key may stand in the wrong place. */
export type Reading<Value> = Readonly<{ value: Value }> | Readonly<{ expected: string; isSecret?: boolean }>;

/** A schema for one value: `read` gives the value, or says what it would have taken. */
export function field<Value>(read: (input: unknown) => Reading<Value>) {
  return z.unknown().transform((input, context): Value => {
    const reading = read(input);
    if ('value' in reading) return reading.value;
    const message = reading.isSecret ? `expected ${reading.expected}` : mismatch(reading.expected, input);
    context.issues.push({ code: 'custom', message, input });
    return z.NEVER;
  });
}

/** A mapping with exactly these fields; any other is refused by name. */
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

/** A list in which nothing stands twice. */
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
export function plainText(longest: number) {
  return matching(
    new RegExp(`^(?! )[^\\p{Cc}]{1,${longest}}(?<! )$`, 'u'),
    `one line of text of at most ${longest} characters`,
  );
}

export function oneOf<const Choice extends string>(...choices: readonly Choice[]) {
  const expected = choices.length === 1 ? `${choices[0]}` : `one of ${choices.join(', ')}`;
  return field<Choice>((input) => {
    const value = choices.find((choice) => choice === input);
    return value === undefined ? { expected } : { value };
  });
}

export function wholeNumber(least: number, most: number = Number.MAX_SAFE_INTEGER) {
  const expected =
    most === Number.MAX_SAFE_INTEGER
      ? `a whole number of at least ${least}`
      : `a whole number from ${least} to ${most}`;
  return field((input) =>
    typeof input === 'number' && Number.isSafeInteger(input) && input >= least && input <= most
      ? { value: input }
      : { expected },
  );
}

export const trueOrFalse = field((input) =>
  typeof input === 'boolean' ? { value: input } : { expected: 'true or false' },
);

/** Reports a fault that only several fields together show. */
export function report(context: z.core.$RefinementCtx, path: Path, message: string): void {
  context.issues.push({ code: 'custom', message, path: [...path], input: undefined });
}

export type Fault = Readonly<{ path: Path; message: string }>;

/** Every fault a schema found, one for each unknown field too. */
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

function describe(input: unknown): string {
  if (input === null) return 'nothing';
  if (typeof input === 'string') return JSON.stringify(input.length > 60 ? `${input.slice(0, 60)}…` : input);
  if (typeof input === 'number' || typeof input === 'bigint') return `the number ${input}`;
  if (typeof input === 'boolean') return `${input}`;
  return Array.isArray(input) ? 'a list' : 'a mapping';
}
