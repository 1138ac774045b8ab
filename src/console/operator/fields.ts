/** The values that operators send. Each message completes the sentence "expected …". */
import { z } from 'zod';
import { parseBody } from '../../http/problem.ts';
import { formatMoneyShort, largestAmount, type Money, parseMoney } from '../../lib/money.ts';
import { readSmallBody } from '../body.ts';
import { isUuid } from '../params.ts';

/** The body of a request as a schema makes it, or a refusal that names the parameter. */
export async function readBody<Value>(request: Request, schema: z.ZodType<Value>): Promise<Value> {
  return parseBody(schema, await readSmallBody(request));
}

export function bodyOf<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.strictObject(shape, 'a JSON object');
}

export function amountFrom(least: Money) {
  const most = formatMoneyShort(largestAmount);
  const expected = `USD as a decimal text with at most 12 decimals, ${least === 0n ? 'not negative' : 'more than 0'} and at most ${most}`;
  return z.string(expected).transform((text, context): Money => {
    const money = parseMoney(text);
    if (money !== null && money >= least && money <= largestAmount) return money;
    context.issues.push({ code: 'custom', message: expected, input: text });
    return z.NEVER;
  });
}

/** A line of text for people. */
export function line(most: number) {
  const expected = `a line of 1 to ${most} characters`;
  return z
    .string(expected)
    .transform((text) => text.trim())
    .refine((text) => text.length >= 1 && text.length <= most && !/\p{Cc}/u.test(text), expected);
}

export function uuid(expected: string) {
  return z
    .string(expected)
    .refine(isUuid, expected)
    .transform((text) => text.toLowerCase());
}

export const role = z.enum(['owner', 'member'], '"owner" or "member"');

/** For what takes no settings at all. */
export const nothing = bodyOf({});
