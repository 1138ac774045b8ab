import type { OperatorAction } from '../../operator-contract.ts';
import type { ActionRow } from './action-queries.ts';

export function presentAction(row: ActionRow): OperatorAction {
  const { account_id: accountId, account_name: accountName, user_id: userId, user_email: userEmail } = row;
  return {
    id: row.id,
    action: row.action,
    operator: { id: row.operator_id, email: row.operator_email },
    account: accountId === null || accountName === null ? null : { id: accountId, name: accountName },
    user: userId === null || userEmail === null ? null : { id: userId, email: userEmail },
    amount: row.amount,
    at: row.created_at.toISOString(),
  };
}
