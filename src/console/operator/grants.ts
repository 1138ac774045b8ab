/** Grants and allowances of any account, for operators: what is left of them, and how they end. */
import type { SQL } from 'bun';
import { z } from 'zod';
import { ApiError } from '../../errors.ts';
import { allowancePeriods, createAllowanceAs, endAllowanceAs } from '../../grants/allowances.ts';
import { voidGrant } from '../../grants/grant-store.ts';
import { previewVoid } from '../../grants/void-preview.ts';
import { readQuery } from '../../http/query.ts';
import { amountFrom, bodyOf, line, nothing, readBody } from '../../json/fields.ts';
import { formatMoney } from '../../lib/money.ts';
import { accountIn, asOperator, idIn } from '../access.ts';
import type { Unsent } from '../contract.ts';
import type { Allowance } from '../grant-contract.ts';
import { findAll, listGrants, presentAllowance } from '../grants.ts';
import type { ConsoleContext, ConsoleHandler, Routes } from '../guard.ts';
import type { VoidedGrant } from '../operator-contract.ts';
import { findAccount } from './accounts.ts';

const maxWords = 500;
const wordsExpected = `a line of at most ${maxWords} characters, or null`;
/** What customers see beside an amount. */
export const words = z
  .string(wordsExpected)
  .transform((text) => text.trim())
  .refine((text) => text.length <= maxWords && !/\p{Cc}/u.test(text), wordsExpected)
  .transform((text) => (text === '' ? null : text));

const priorityExpected = 'a whole number from 0 to 100';
export const priority = z.int(priorityExpected).min(0, priorityExpected).max(100, priorityExpected);

const voidBody = bodyOf({ reason: line(maxWords) });

const allowanceBody = bodyOf({
  amount: amountFrom(1n),
  every: z.enum(allowancePeriods, allowancePeriods.map((period) => `"${period}"`).join(', ')),
  priority,
  note: words.nullable(),
});

export function accountGrantsPage({ sql }: Readonly<{ sql: SQL }>): Routes<ConsoleHandler> {
  return {
    '/accounts/:account/grants': {
      GET: async (request, context) => {
        const accountId = accountIn(context.params);
        return await listGrants(request, async (page) => {
          await requireAccount(sql, context, accountId);
          return await findAll(sql, accountId, page);
        });
      },
    },
    '/accounts/:account/grants/:grant/void': {
      GET: async (request, context) => {
        readQuery(request.url, []);
        const grant = grantIn(context);
        await requireAccount(sql, context, grant.accountId);
        const shown = await previewVoid(sql, grant);
        if (shown === null) throw new ApiError('grant_not_found');
        return respondVoided(shown);
      },
      POST: async (request, context) => {
        const grant = grantIn(context);
        const { reason } = await readBody(request, voidBody);
        // Who may is checked with the change itself.
        const result = await voidGrant(sql, context.actor, { ...grant, reason });
        switch (result.outcome) {
          case 'denied':
            throw new ApiError('permission_denied');
          case 'no_grant':
            throw new ApiError('grant_not_found');
          case 'nothing_left':
            throw new ApiError('nothing_left', { message: 'Nothing is left of this grant.' });
          default: {
            const rest = await previewVoid(sql, grant);
            const kept = rest === null ? 0n : rest.taken + rest.kept;
            return respondVoided({ taken: result.outcome === 'voided' ? result.taken : 0n, kept });
          }
        }
      },
    },
    '/accounts/:account/allowances': {
      POST: async (request, context) => {
        const accountId = accountIn(context.params);
        const draft = await readBody(request, allowanceBody);
        const created = await asOperator(sql, context, (transaction) =>
          createAllowanceAs(transaction, context.actor, { accountId, ...draft }),
        );
        if (created === 'no_account') throw new ApiError('account_not_found');
        if (created === 'too_many') throw new ApiError('too_many_allowances');
        return Response.json(presentAllowance(created) satisfies Unsent<Allowance>);
      },
    },
    '/accounts/:account/allowances/:allowance/end': {
      POST: async (request, context) => {
        const accountId = accountIn(context.params);
        const id = idIn(context.params, 'allowance', 'allowance_not_found');
        await readBody(request, nothing);
        const ended = await asOperator(sql, context, (transaction) =>
          endAllowanceAs(transaction, context.actor, { id, accountId }),
        );
        if (ended === null) throw new ApiError('allowance_not_found');
        return Response.json(presentAllowance(ended) satisfies Unsent<Allowance>);
      },
    },
  };
}

/** Only operators find it. */
async function requireAccount(
  sql: SQL,
  { signedIn }: Pick<ConsoleContext, 'signedIn'>,
  accountId: string,
): Promise<void> {
  if ((await findAccount(sql, signedIn, accountId)) === null) throw new ApiError('account_not_found');
}

function grantIn({ params }: Pick<ConsoleContext, 'params'>) {
  return { accountId: accountIn(params), id: idIn(params, 'grant', 'grant_not_found') };
}

function respondVoided({ taken, kept }: Readonly<{ taken: bigint; kept: bigint }>): Response {
  return Response.json({ taken: formatMoney(taken), kept: formatMoney(kept) } satisfies VoidedGrant);
}
