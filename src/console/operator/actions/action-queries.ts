import type { SQL } from 'bun';
import type { OperatorAction } from '../../operator-contract.ts';
import { type Found, rowsFound } from '../operator-queries.ts';

export type ActionRow = {
  id: string;
  action: OperatorAction['action'];
  operator_id: string;
  operator_email: string;
  account_id: string | null;
  account_name: string | null;
  user_id: string | null;
  user_email: string | null;
  amount: string | null;
  created_at: Date;
};

export async function findActions(sql: SQL, operatorId: string, limit: number): Promise<ActionRow[]> {
  const rows = await sql<Found<ActionRow, 'id'>[]>`
    select done.* from users left join lateral (
      select operator_actions.id, action, operator_id, operator.email as operator_email,
             account_id, accounts.name as account_name, user_id, concerned.email as user_email,
             amount, operator_actions.created_at
      from operator_actions
      join users as operator on operator.id = operator_id
      left join accounts on accounts.id = account_id
      left join users as concerned on concerned.id = user_id
      order by operator_actions.id desc limit ${limit}
    ) as done on true
    where users.id = ${operatorId} and users.is_operator
    order by done.id desc`;
  return rowsFound(rows, 'id');
}
