/** Codes that owners redeem for credit. */
import type { SQL } from 'bun';
import { z } from 'zod';
import { ApiError } from '../errors.ts';
import { bodyOf, readBody } from '../json/fields.ts';
import { networkOfClient } from '../lib/ip-address.ts';
import { formatMoney } from '../lib/money.ts';
import { isLikeCode, redeemCode } from '../payments/codes.ts';
import type { Attempts, Limit } from '../people/attempts.ts';
import { asOwner, findStanding, requireOwner } from './access.ts';
import type { RedeemedCode } from './contract.ts';
import type { AccountHandler, Routes } from './guard.ts';

const codeBody = bodyOf({ code: z.string('a code').max(200, 'a code') });

/** Codes cannot be guessed at any rate; this keeps guesses from costing much. */
const codeLimit = (scope: string, subject: string): Limit => ({
  scope,
  subject,
  max: 20,
  periodSeconds: 60 * 60,
});

export function codesPage({
  sql,
  attempts,
}: Readonly<{ sql: SQL; attempts: Attempts }>): Routes<AccountHandler> {
  return {
    '/payments/redeem': {
      POST: async (request, { caller, actor, base }) => {
        const { code } = await readBody(request, codeBody);
        requireOwner(await findStanding(sql, caller));
        await attempts.take([
          codeLimit('code-user', caller.userId),
          codeLimit('code-network', networkOfClient(base.clientAddress())),
        ]);
        const text = code.trim();
        const amount = isLikeCode(text)
          ? await asOwner(sql, caller, (transaction) =>
              redeemCode(transaction, actor, caller.accountId, text),
            )
          : null;
        if (amount === null) throw new ApiError('invalid_code', { param: 'code' });
        return Response.json({ amount: formatMoney(amount) } satisfies RedeemedCode);
      },
    },
  };
}
