/** Money that programs move: credits, corrections and refunds. */
import type { SQL } from 'bun';
import { z } from 'zod';
import type { TokenActor } from '../audit-log/audit-log.ts';
import { correctionOf } from '../console/operator/movements.ts';
import { ApiError } from '../errors.ts';
import { requireFuture, termsFields, termsOf } from '../grants/grant-body.ts';
import { readIdempotencyKey } from '../idempotency/idempotency-key.ts';
import { amountFrom, bodyOf, converted, line, signedAmount } from '../json/fields.ts';
import { parseBody } from '../json/problem.ts';
import { book, type Correction, isBooked, type Movement, type Refund } from '../ledger/movements.ts';
import { refusalOf } from '../ledger/refusals.ts';
import { uuidFromRequestId } from '../lib/ids.ts';
import { formatMoney } from '../lib/money.ts';
import { accountOf } from './account.ts';
import { changing, type Endpoints } from './endpoint.ts';

export const creditSchema = bodyOf({
  amount: amountFrom(1n),
  memo: line(500).nullable().default(null),
  reference: line(200).nullable().default(null),
  ...termsFields,
});

const byHand = { reason: line(500), reference: line(200) };

export const correctionSchema = bodyOf({
  amount: signedAmount(', or null to undo the entry').nullable().default(null),
  entry_number: z
    .int('the number of an entry, or null')
    .positive('the number of an entry, or null')
    .nullable()
    .default(null),
  request_id: converted('the ID of a request, or null', uuidFromRequestId).nullable().default(null),
  ...byHand,
});

export const refundSchema = bodyOf({
  amount: amountFrom(1n, ', or null for all that is left').nullable().default(null),
  ...byHand,
});

export const movementEndpoints: Endpoints = {
  '/accounts/:account/credits': {
    POST: changing({
      scope: 'money',
      parse: (body) => parseBody(creditSchema, body),
      change: async (transaction, call) => {
        requireRetryable(call.body.reference, call.headers);
        const accountId = await accountOf(transaction, call);
        return { status: 201, body: await credit(transaction, call.actor, accountId, call.body) };
      },
    }),
  },
  '/accounts/:account/corrections': {
    POST: changing({
      scope: 'money',
      parse: (body) => parseBody(correctionSchema, body),
      change: async (transaction, call) => {
        const accountId = await accountOf(transaction, call);
        const movement = { ...correctionOf(call.body), kind: 'correction', accountId } as const;
        return { status: 201, body: await correctOrRefund(transaction, call.actor, movement) };
      },
    }),
  },
  '/generations/:generation/refunds': {
    POST: changing({
      scope: 'money',
      parse: (body) => parseBody(refundSchema, body),
      change: async (transaction, { actor, params, body }) => {
        const generationId = uuidFromRequestId(params.generation ?? '');
        if (generationId === null) throw new ApiError('generation_not_found');
        const { amount, ...words } = body;
        const movement = {
          kind: 'refund',
          generationId,
          accountId: null,
          amount: amount ?? 'rest',
          ...words,
        } as const;
        return { status: 201, body: await correctOrRefund(transaction, actor, movement) };
      },
    }),
  },
};

/** After a lost response a program sends its request again, and must not give the credit twice. */
function requireRetryable(reference: string | null, headers: Headers): void {
  if (reference !== null || readIdempotencyKey(headers) !== null) return;
  throw new ApiError('invalid_parameter', {
    param: 'reference',
    message: 'A credit needs a reference or an Idempotency-Key, so that it is given once.',
  });
}

/** The same reference again is the same movement; with other content it is refused. */
async function move(sql: SQL, actor: TokenActor, movement: Movement) {
  const result = await book(sql, actor, movement);
  if (!isBooked(result)) {
    const { code, ...details } = refusalOf(result);
    throw new ApiError(code, details);
  }
  const { accountId, entryNumber, amount, balance, outcome } = result;
  return {
    account_id: accountId,
    entry_number: entryNumber === null ? null : Number(entryNumber),
    amount: formatMoney(amount),
    balance: formatMoney(balance),
    isRepeated: outcome === 'repeated',
  };
}

async function credit(
  sql: SQL,
  actor: TokenActor,
  accountId: string,
  { amount, memo: given, reference, ...wire }: z.output<typeof creditSchema>,
) {
  // Customers see the memo of a credit, so an invoice number that is given as the reference is shown there.
  const memo = given ?? reference;
  const grant = termsOf(wire);
  const { isRepeated, ...booked } = await move(sql, actor, {
    kind: 'credit',
    accountId,
    amount,
    memo,
    reference,
    grant,
  });
  // Afterwards, because a retry by its reference has to pass whenever it comes. Nothing is committed yet.
  if (!isRepeated) requireFuture(grant, new Date());
  return { object: 'credit', ...booked, memo, reference, already_credited: isRepeated };
}

async function correctOrRefund(sql: SQL, actor: TokenActor, movement: Correction | Refund) {
  const { kind, reason, reference } = movement;
  const { isRepeated, ...booked } = await move(sql, actor, movement);
  return { object: kind, ...booked, reason, reference, already_booked: isRepeated };
}
