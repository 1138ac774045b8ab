/** Reads the audit log, the newest changes first. */
import type { SQL } from 'bun';
import type { Action, Actor, Fields, ObjectType } from './audit-log.ts';

/** A change as it is shown, by its names on the wire. */
export type LoggedChange = Readonly<{
  id: string;
  at: Date;
  door: Actor['door'];
  /** The name is an e-mail address, the name of a token, or `user@host`. */
  actor: Readonly<{ type: 'user' | 'token' | 'shell'; id: string | null; name: string }>;
  /** Where the request came from; null at the command line. */
  address: string | null;
  action: Action;
  account: Readonly<{ id: string; name: string }> | null;
  /** What was changed. The name is null for what no longer exists, and for what has none. */
  object: Readonly<{ type: ObjectType; id: string; name: string | null }> | null;
  before: Fields | null;
  after: Fields | null;
}>;

export type ChangeFilter = Readonly<{
  /** Null for the changes to all accounts, and to none. */
  accountId: string | null;
  action: string | null;
  /** Only what is about this key: itself, and its limits. */
  keyId?: string | null;
}>;

/** The query of the newest `rowCount` changes before a position, for other queries to include. */
export function changesQuery(sql: SQL, filter: ChangeFilter, before: string, rowCount: number) {
  const { action, keyId = null } = filter;
  return shownQuery(
    sql,
    sql`
      select * from audit_log
      where ${ofAccount(sql, filter)} and (${action}::text is null or action = ${action}::text) and id < ${before}::uuid
        and ${keyId === null ? sql`true` : isAboutKey(sql, filter.accountId, keyId)}
      order by id desc limit ${rowCount}::int`,
  );
}

/** What happens to a limit later does not name its key again. The subquery is the same for all rows, so it runs once. */
function isAboutKey(sql: SQL, accountId: string | null, keyId: string) {
  return sql`(
    (object_type = 'key' and object_id = ${keyId}::text)
    or (action = 'replace_key' and after->>'replaced_by' = ${keyId}::text)
    or (object_type = 'limit' and object_id in (
      select named.object_id from audit_log as named
      where (${accountId}::uuid is null or named.account_id = ${accountId}::uuid) and named.object_type = 'limit'
        and ${keyId}::text in (named.before->>'key_id', named.after->>'key_id'))))`;
}

/** The same from the oldest on: from an ID, or after one, up to the ID at which the range ends. */
export function changesAfterQuery(
  sql: SQL,
  filter: Pick<ChangeFilter, 'accountId'>,
  start: Readonly<{ from: string }> | Readonly<{ after: string }>,
  end: string,
  rowCount: number,
) {
  const isAfter = 'from' in start ? sql`id >= ${start.from}::uuid` : sql`id > ${start.after}::uuid`;
  return shownQuery(
    sql,
    sql`
      select * from audit_log where ${ofAccount(sql, filter)} and ${isAfter} and id < ${end}::uuid
      order by id limit ${rowCount}::int`,
  );
}

function ofAccount(sql: SQL, { accountId }: Pick<ChangeFilter, 'accountId'>) {
  return accountId === null ? sql`true` : sql`audit_log.account_id = ${accountId}::uuid`;
}

/** With the names of whoever and whatever is in these rows. */
function shownQuery(sql: SQL, changes: SQL.Query<unknown>) {
  return sql`
    select changes.id, changes.created_at as at, door,
           case door
             when 'dashboard' then json_build_object('type', 'user', 'id', actor.id, 'name', actor.email)
             when 'api' then json_build_object('type', 'token', 'id', token.id, 'name', token.name)
             else json_build_object('type', 'shell', 'id', null, 'name', actor_shell_user)
           end as actor,
           address, action,
           case when accounts.id is not null
             then json_build_object('id', accounts.id, 'name', accounts.name) end as account,
           case when object_type is not null
             then json_build_object('type', object_type, 'id', object_id, 'name', case object_type
               when 'account' then accounts.name
               when 'key' then (select name from api_keys where id = object_id::uuid)
               when 'limit' then (
                 select replace(kind, '_', ' ') || case scope
                   when 'account' then ', the account'
                   when 'key' then ', key ' || (select name from api_keys where id = key_id)
                   when 'end_user' then ', end user ' || end_user
                   else ', each end user' end
                 from limits where id = object_id::uuid)
               when 'user' then (select email from users where id = object_id::uuid)
               when 'webhook' then (select substring(url from '^[a-z]+://[^/?#]+') from webhook_endpoints where id = object_id::uuid)
               when 'token' then (select name from admin_tokens where id = object_id::uuid)
               when 'provider' then object_id end) end as object,
           before, after, actor_user_id
    from (${changes}) as changes
    left join users as actor on actor.id = actor_user_id
    left join admin_tokens as token on token.id = actor_token_id
    left join accounts on accounts.id = changes.account_id`;
}
