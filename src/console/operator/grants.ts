/** Grants and allowances of any account, for operators: what is left of them, and how they end. */
import type { SQL } from 'bun';
import { ApiError } from '../../errors.ts';
import { createAllowanceAs, endAllowanceAs } from '../../grants/allowances.ts';
import { allowanceDraftSchema, voidSchema } from '../../grants/grant-body.ts';
import { voidGrant } from '../../grants/grant-store.ts';
import { presentAllowance } from '../../grants/present.ts';
import { refusalOfVoid } from '../../grants/refusals.ts';
import { previewVoid } from '../../grants/void-preview.ts';
import { readQuery } from '../../http/query.ts';
import { nothing, readBody } from '../../json/fields.ts';
import { formatMoney } from '../../lib/money.ts';
import { accountIn, asOperator, idIn } from '../access.ts';
import { boundedRead } from '../bounded-read.ts';
import type { Allowance } from '../grant-contract.ts';
import { findAll, listGrants } from '../grants.ts';
import type { ConsoleContext, ConsoleHandler, Routes } from '../guard.ts';
import type { VoidedGrant } from '../operator-contract.ts';
import { findAccount } from './accounts.ts';

export function accountGrantsPage({ sql }: Readonly<{ sql: SQL }>): Routes<ConsoleHandler> {
  return {
    '/accounts/:account/grants': {
      GET: async (request, context) => {
        const accountId = accountIn(context.params);
        return await listGrants(request, async (page) => {
          await requireAccount(sql, context, accountId);
          return await boundedRead(sql, (read) => findAll(read, accountId, page));
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
        const { reason } = await readBody(request, voidSchema);
        // Who may is checked with the change itself.
        const result = await voidGrant(sql, context.actor, { ...grant, reason });
        const refusal = refusalOfVoid(result);
        if (refusal !== null) throw new ApiError(refusal.code, { message: refusal.message });
        const rest = await previewVoid(sql, grant);
        const kept = rest === null ? 0n : rest.taken + rest.kept;
        return respondVoided({ taken: result.outcome === 'voided' ? result.taken : 0n, kept });
      },
    },
    '/accounts/:account/allowances': {
      POST: async (request, context) => {
        const accountId = accountIn(context.params);
        const draft = await readBody(request, allowanceDraftSchema);
        const created = await asOperator(sql, context, (transaction) =>
          createAllowanceAs(transaction, context.actor, { accountId, ...draft }),
        );
        if (created === 'no_account') throw new ApiError('account_not_found');
        if (created === 'too_many') throw new ApiError('too_many_allowances');
        return Response.json(presentAllowance(created) satisfies Allowance);
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
        return Response.json(presentAllowance(ended) satisfies Allowance);
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
