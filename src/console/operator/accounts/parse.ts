import { z } from 'zod';
import { amountFrom, bodyOf, line, uuid } from '../fields.ts';

const longestMemo = 500;
const memo = `a line of at most ${longestMemo} characters, or null`;

export const accountDraft = bodyOf({
  name: line(200),
  credit: amountFrom(0n).optional(),
  reference: uuid('a UUID that is new for each account'),
});

export const accountCredit = bodyOf({
  amount: amountFrom(1n),
  memo: z
    .string(memo)
    .transform((text) => text.trim())
    .refine((text) => text.length <= longestMemo && !/\p{Cc}/u.test(text), memo)
    .transform((text) => (text === '' ? null : text))
    .nullable(),
  reference: uuid('a UUID that is new for each credit'),
});
