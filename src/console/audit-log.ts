/** What was changed in an account, for its owners. */
import type { SQL } from 'bun';
import { isOwnColumn, type OwnedChange, presentForOwners } from '../audit-log/for-owners.ts';
import { changesQuery } from '../audit-log/read.ts';
import { presentPage } from '../http/present-page.ts';
import { parseLimit, readQuery } from '../http/query.ts';
import { type Caller, findRole, requireOwner } from './access.ts';
import type { AccountAuditLog, Unsent } from './contract.ts';
import type { AccountHandler, Routes } from './guard.ts';
import { parseCursor } from './operator/list.ts';

const defaultLimit = 50;

export function accountAuditLogPage({ sql }: Readonly<{ sql: SQL }>): Routes<AccountHandler> {
  return {
    '/audit-log': {
      GET: async (request, { caller }) => {
        const query = readQuery(request.url, ['limit', 'cursor']);
        const limit = parseLimit(query.get('limit'), defaultLimit);
        const before = parseCursor(query.get('cursor'));
        const changes = await findChanges(sql, caller, before, limit + 1);
        const page = presentPage(changes, limit, presentForOwners, ({ id }) => id);
        return Response.json(page satisfies Unsent<AccountAuditLog>);
      },
    },
  };
}

async function findChanges(
  sql: SQL,
  caller: Caller,
  before: string,
  rowCount: number,
): Promise<OwnedChange[]> {
  const { userId, accountId } = caller;
  const rows = await sql<OwnedChange[]>`
    select change.*,
           ${isOwnColumn(sql, accountId)}
    from memberships cross join lateral (
      ${changesQuery(sql, { accountId, action: null }, before, rowCount)}
    ) as change
    where memberships.user_id = ${userId} and memberships.account_id = ${accountId} and role = 'owner'
    order by change.id desc`;
  if (rows.length === 0) requireOwner(await findRole(sql, caller));
  return rows;
}
