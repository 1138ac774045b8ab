/** What was changed in an account, for its owners. */
import type { SQL } from 'bun';
import type { Fields } from '../audit-log/audit-log.ts';
import { changesQuery, type LoggedChange } from '../audit-log/read.ts';
import { presentPage } from '../http/present-page.ts';
import { parseLimit, readQuery } from '../http/query.ts';
import { type Caller, findRole, requireOwner } from './access.ts';
import type { AccountAuditLog, AccountChange, Unsent } from './contract.ts';
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
        const page = presentPage(changes, limit, presentChange, ({ id }) => id);
        return Response.json(page satisfies Unsent<AccountAuditLog>);
      },
    },
  };
}

type ChangeRow = LoggedChange & Readonly<{ is_own: boolean }>;

/**
 * `is_own`: the actor is a member of the account, or was one when they made the change. Whether they work for the operator
 * today says nothing about the day of the change.
 */
async function findChanges(sql: SQL, caller: Caller, before: string, rowCount: number): Promise<ChangeRow[]> {
  const { userId, accountId } = caller;
  const rows = await sql<ChangeRow[]>`
    select change.*,
           change.actor_user_id is not null and (
             exists (
               select 1 from memberships as own where own.user_id = change.actor_user_id and own.account_id = ${accountId})
             or exists (
               select 1 from audit_log as removal
               where removal.account_id = ${accountId} and removal.action = 'remove_member' and removal.object_type = 'user'
                 and removal.object_id = change.actor_user_id::text and removal.id >= change.id)
           ) as is_own
    from memberships cross join lateral (
      ${changesQuery(sql, { accountId, action: null }, before, rowCount)}
    ) as change
    where memberships.user_id = ${userId} and memberships.account_id = ${accountId} and role = 'owner'
    order by change.id desc`;
  if (rows.length === 0) requireOwner(await findRole(sql, caller));
  return rows;
}

/** What owners see of a change. Not among them is what the operator's own systems know the account by, and its price group. */
const fieldsForOwners = new Set([
  'name',
  'is_suspended',
  'low_balance',
  'amount',
  'memo',
  'reason',
  'reference',
  'entry_number',
  'concerns_entry',
  'request_id',
  'requests_per_minute',
  'max_concurrent',
  'monthly_limit',
  'allowed_models',
  'expires_at',
  'revoked_at',
  'replaced_by',
  'role',
  'email',
  'url',
  'description',
  'types',
  'is_enabled',
]);

function forOwners(fields: Fields | null): Record<string, unknown> | null {
  if (fields === null) return null;
  return Object.fromEntries(Object.entries(fields).filter(([name]) => fieldsForOwners.has(name)));
}

/** Customers do not learn who works for the operator, or from where. */
function presentChange({ is_own: isOwn, ...change }: ChangeRow): Unsent<AccountChange> {
  const { id, at, action, object, before, after } = change;
  return {
    id,
    at,
    action,
    actor: isOwn ? change.actor.name : null,
    address: isOwn ? change.address : null,
    object,
    before: forOwners(before),
    after: forOwners(after),
  };
}
