/** Small bodies of requests, and the values in them. Each message completes the sentence "expected …". */
import { z } from 'zod';
import { isUuid } from '../lib/ids.ts';
import { formatMoneyShort, largestAmount, type Money, parseMoney, sizeOf } from '../lib/money.ts';
import { readJsonBody } from './body.ts';
import { parseBody } from './problem.ts';

/** Nothing but a chat or a catalogue is larger. */
const maxBytes = 64 * 1024;

/** The body of a request as its schema parses it, or an error that names the parameter. */
export async function readBody<Value>(request: Request, schema: z.ZodType<Value>): Promise<Value> {
  return parseBody(schema, await readSmallBody(request));
}

export function readSmallBody(request: Request): Promise<unknown> {
  return readJsonBody(request, { maxBytes });
}

export function bodyOf<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.strictObject(shape, 'a JSON object');
}

/** A text that `convert` turns into a value, or into null when it is not valid. */
export function converted<Value>(expected: string, convert: (text: string) => Value | null) {
  return z.string(expected).transform((input, context): Value => {
    const value = convert(input);
    if (value !== null) return value;
    context.issues.push({ code: 'custom', message: expected, input });
    return z.NEVER;
  });
}

export function amountFrom(min: Money, alternative = '') {
  const range = `${min === 0n ? 'not negative' : 'more than 0'} and at most ${formatMoneyShort(largestAmount)}`;
  return converted(`USD as a decimal text with at most 12 decimals, ${range}${alternative}`, (text) => {
    const money = parseMoney(text);
    return money !== null && money >= min && money <= largestAmount ? money : null;
  });
}

/** Either sign, but not zero. */
export function signedAmount(alternative = '') {
  const range = `not 0, from -${formatMoneyShort(largestAmount)} to ${formatMoneyShort(largestAmount)}`;
  return converted(`USD as a decimal text with at most 12 decimals, ${range}${alternative}`, (text) => {
    const money = parseMoney(text);
    return money !== null && money !== 0n && sizeOf(money) <= largestAmount ? money : null;
  });
}

export function line(max: number) {
  const expected = `a line of 1 to ${max} characters`;
  return z
    .string(expected)
    .transform((text) => text.trim())
    .refine((text) => text.length >= 1 && text.length <= max && !/\p{Cc}/u.test(text), expected);
}

export function uuid(expected: string) {
  return z
    .string(expected)
    .refine(isUuid, expected)
    .transform((text) => text.toLowerCase());
}

export const role = z.enum(['owner', 'member'], '"owner" or "member"');

/** For requests without parameters. */
export const nothing = bodyOf({});
