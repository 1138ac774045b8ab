/** What operators did, the newest first. */
import type { SQL } from 'bun';
import { readQuery } from '../../http/query.ts';
import { type Found, rowsForOperator } from '../access.ts';
import type { Unsent } from '../contract.ts';
import type { ConsoleHandler, Routes } from '../guard.ts';
import type { OperatorAction } from '../operator-contract.ts';

const maxActions = 100;

export function actionsPage({ sql }: Readonly<{ sql: SQL }>): Routes<ConsoleHandler> {
  return {
    '/actions': {
      GET: async (request, { signedIn }) => {
        readQuery(request.url, []);
        const data = await findActions(sql, signedIn.userId, maxActions);
        return Response.json({ data: data satisfies Unsent<OperatorAction>[] });
      },
    },
  };
}

type ActionRow = Unsent<OperatorAction>;

export async function findActions(sql: SQL, operatorId: string, limit: number): Promise<ActionRow[]> {
  const rows = await sql<Found<ActionRow, 'id'>[]>`
    select done.* from users left join lateral (
      select operator_actions.id, action, amount, operator_actions.created_at as at,
             case when operator.id is not null
               then json_build_object('id', operator.id, 'email', operator.email) end as operator,
             shell_user,
             case when accounts.id is not null
               then json_build_object('id', accounts.id, 'name', accounts.name) end as account,
             case when concerned.id is not null
               then json_build_object('id', concerned.id, 'email', concerned.email) end as user,
             case when api_keys.id is not null
               then json_build_object('id', api_keys.id, 'name', api_keys.name) end as key,
             operator_actions.provider
      from operator_actions
      left join users as operator on operator.id = operator_id
      left join accounts on accounts.id = operator_actions.account_id
      left join api_keys on api_keys.id = key_id
      left join users as concerned on concerned.id = user_id
      order by operator_actions.id desc limit ${limit}
    ) as done on true
    where users.id = ${operatorId} and users.is_operator
    order by done.id desc`;
  return rowsForOperator(rows, 'id');
}
