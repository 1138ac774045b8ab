/** What the owners of an account see of the changes to it. */
import type { SQL } from 'bun';
import type { Fields } from './audit-log.ts';
import type { LoggedChange } from './read.ts';

/** `is_own`: see `isOwnColumn`. */
export type OwnedChange = LoggedChange & Readonly<{ is_own: boolean }>;

/**
 * The column `is_own` of a query whose rows are called `change`: the actor is a member of the account, or was one when they
 * made the change. Whether they work for the operator today says nothing about the day of the change.
 */
export function isOwnColumn(sql: SQL, accountId: string) {
  return sql`
    change.actor_user_id is not null and (
      exists (
        select 1 from memberships as own where own.user_id = change.actor_user_id and own.account_id = ${accountId})
      or exists (
        select 1 from audit_log as removal
        where removal.account_id = ${accountId} and removal.action = 'remove_member' and removal.object_type = 'user'
          and removal.object_id = change.actor_user_id::text and removal.id >= change.id)
    ) as is_own`;
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
  'kind',
  'scope',
  'key_id',
  'end_user',
  'set_by',
  'increase',
  'increase_until',
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
export function presentForOwners({ is_own: isOwn, ...change }: OwnedChange) {
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
