/** Money that operators move by hand: credits, corrections and refunds. */
import type { SQL } from 'bun';
import { z } from 'zod';
import { ApiError } from '../../errors.ts';
import { requireFuture, termsSchema } from '../../grants/grant-body.ts';
import { amountFrom, bodyOf, converted, line, readBody, signedAmount, uuid } from '../../json/fields.ts';
import { type Booked, book, isBooked, type Movement, preview, type Refused } from '../../ledger/movements.ts';
import { refusalOf } from '../../ledger/refusals.ts';
import { uuidFromRequestId } from '../../lib/ids.ts';
import { formatMoney } from '../../lib/money.ts';
import { shortTransaction } from '../../lib/short-transaction.ts';
import { accountIn } from '../access.ts';
import type { ConsoleContext, ConsoleHandler, Routes } from '../guard.ts';
import type { BookedMovement } from '../operator-contract.ts';
import { findAccount } from './accounts.ts';

const maxWords = 500;
const memoWords = `a line of at most ${maxWords} characters, or null`;

const creditBody = bodyOf({
  amount: amountFrom(1n),
  memo: z
    .string(memoWords)
    .transform((text) => text.trim())
    .refine((text) => text.length <= maxWords && !/\p{Cc}/u.test(text), memoWords)
    .transform((text) => (text === '' ? null : text))
    .nullable(),
  reference: uuid('a UUID that is new for each credit'),
  grant: termsSchema.nullable().optional(),
});

const byHand = {
  reason: line(maxWords),
  reference: uuid('a UUID that is new for each movement'),
  is_preview: z.boolean('true or false').optional(),
};

const correctionBody = bodyOf({
  amount: signedAmount(', or null to undo the entry').nullable(),
  entry_number: z
    .int('the number of an entry, or null')
    .positive('the number of an entry, or null')
    .nullable(),
  request_id: converted('the ID of a request, or null', uuidFromRequestId).nullable(),
  ...byHand,
});

const refundBody = bodyOf({ amount: amountFrom(1n, ', or null for all that is left').nullable(), ...byHand });

export function movementsPage({ sql }: Readonly<{ sql: SQL }>): Routes<ConsoleHandler> {
  const move = async ({ actor }: ConsoleContext, movement: Movement, isPreview = false) =>
    requireBooked(await (isPreview ? preview : book)(sql, actor, movement));

  return {
    '/accounts/:account/credit': {
      POST: async (request, context) => {
        const accountId = accountIn(context.params);
        const credit = await readBody(request, creditBody);
        await shortTransaction(sql, async (transaction) => {
          const result = await book(transaction, context.actor, { kind: 'credit', accountId, ...credit });
          // Afterwards, because a retry has to pass whenever it comes. Nothing is committed yet.
          if (requireBooked(result).outcome === 'booked')
            requireFuture(credit.grant ?? null, new Date(), 'grant.expires_at');
        });
        const account = await findAccount(sql, context.signedIn, accountId);
        if (account === null) throw new ApiError('account_not_found');
        return Response.json(account);
      },
    },
    '/accounts/:account/corrections': {
      POST: async (request, context) => {
        const accountId = accountIn(context.params);
        const { is_preview: isPreview, ...body } = await readBody(request, correctionBody);
        const movement = { ...correctionOf(body), kind: 'correction', accountId } as const;
        return Response.json(presentBooked(await move(context, movement, isPreview)));
      },
    },
    '/generations/:generation/refunds': {
      POST: async (request, context) => {
        const generationId = uuidFromRequestId(context.params.generation ?? '');
        if (generationId === null) throw new ApiError('generation_not_found');
        const { amount, is_preview: isPreview, ...words } = await readBody(request, refundBody);
        const movement = {
          kind: 'refund',
          generationId,
          accountId: null,
          amount: amount ?? 'rest',
          ...words,
        } as const;
        return Response.json(presentBooked(await move(context, movement, isPreview)));
      },
    },
  };
}

function requireBooked(result: Booked | Refused): Booked {
  if (isBooked(result)) return result;
  const { code, ...details } = refusalOf(result);
  throw new ApiError(code, details);
}

type CorrectionFields = Pick<z.infer<typeof correctionBody>, 'amount' | 'entry_number' | 'request_id'>;

/** What a correction is about, and how much it is. */
export function correctionOf<Words>({
  amount,
  entry_number: entry,
  request_id: generationId,
  ...words
}: CorrectionFields & Words) {
  if (entry !== null && generationId !== null)
    throw new ApiError('invalid_parameter', {
      param: 'request_id',
      message: 'A correction is about an entry or about a request, not about both.',
    });
  const about = entry === null ? null : { entryNumber: BigInt(entry) };
  if (amount !== null) return { ...words, amount, about: generationId === null ? about : { generationId } };
  if (about === null) throw new ApiError('missing_required_parameter', { param: 'amount' });
  return { ...words, amount: 'rest', about } as const;
}

function presentBooked({ outcome, accountId, entryNumber, amount, balance, held }: Booked): BookedMovement {
  return {
    account_id: accountId,
    entry_number: entryNumber === null ? null : Number(entryNumber),
    amount: formatMoney(amount),
    balance: formatMoney(balance),
    held: formatMoney(held),
    is_repeated: outcome === 'repeated',
  };
}
