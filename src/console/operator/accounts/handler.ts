/** /api/console/operator/accounts: all of them, their money, and whether they may use it. */
import { ApiError } from '../../../errors.ts';
import { creditOnce } from '../../../ledger/credit.ts';
import { newId } from '../../../lib/ids.ts';
import type { ConsoleContext, ConsoleHandler } from '../../guard.ts';
import type { OperatorAccounts } from '../../operator-contract.ts';
import { accountIn } from '../../params.ts';
import { nothing, readBody } from '../fields.ts';
import { pageOf, readListQuery } from '../list.ts';
import { createAccountAs, findAccount, findAccounts, suspendAccountAs } from './account-queries.ts';
import { accountCredit, accountDraft } from './parse.ts';
import { presentAccount } from './present.ts';

export async function listAccounts(
  request: Request,
  { services, signedIn }: ConsoleContext,
): Promise<Response> {
  const query = readListQuery(request.url);
  const accounts = await findAccounts(services.sql, signedIn.userId, query);
  return Response.json(pageOf(accounts, query.limit, presentAccount) satisfies OperatorAccounts);
}

export async function createAccount(request: Request, context: ConsoleContext): Promise<Response> {
  const { credit = 0n, ...draft } = await readBody(request, accountDraft);
  const { services, signedIn } = context;
  const accountId = await createAccountAs(services.sql, signedIn.userId, { ...draft, credit });
  return await answerWith(context, accountId);
}

export async function creditAccount(request: Request, context: ConsoleContext): Promise<Response> {
  const accountId = accountIn(context.params);
  const { amount, memo, reference } = await readBody(request, accountCredit);
  const { services, signedIn } = context;
  const outcome = await creditOnce(services.sql, {
    actionId: newId(),
    operatorId: signedIn.userId,
    accountId,
    amount,
    memo,
    reference,
  });
  if (outcome === 'denied') throw new ApiError('permission_denied');
  if (outcome === 'missing') throw new ApiError('account_not_found');
  if (outcome === 'different')
    throw new ApiError('invalid_parameter', {
      param: 'reference',
      message: 'This reference has been used for another credit. A new credit needs a new one.',
    });
  return await answerWith(context, accountId);
}

export const suspendAccount = suspension(true);
export const resumeAccount = suspension(false);

/** What is so already stays so. */
function suspension(isSuspended: boolean): ConsoleHandler {
  return async (request, context) => {
    const accountId = accountIn(context.params);
    await readBody(request, nothing);
    await suspendAccountAs(context.services.sql, context.signedIn.userId, accountId, isSuspended);
    return await answerWith(context, accountId);
  };
}

async function answerWith({ services, signedIn }: ConsoleContext, accountId: string): Promise<Response> {
  const account = await findAccount(services.sql, signedIn.userId, accountId);
  if (account === null) throw new ApiError('account_not_found');
  return Response.json(presentAccount(account));
}
