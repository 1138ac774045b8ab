/**
 * The keys of an account, as far as the caller's membership goes: each statement asks for it. What is not theirs to
 * see or do is refused, and then nothing was changed.
 */
import type { SQL } from 'bun';
import { ApiError } from '../../errors.ts';
import { hashKey, keyHint } from '../../keys/key-format.ts';
import { newId } from '../../lib/ids.ts';
import { formatMoney, type Money } from '../../lib/money.ts';
import { type Caller, requireMember, requireOwner } from '../access.ts';
import type { Role } from '../contract.ts';
import { type KeySettings, refuseUnknownModels } from './parse.ts';

/** Amounts are decimal texts with 12 digits, as they were stored. */
export type KeyRecord = Readonly<{
  id: string;
  name: string;
  hint: string;
  requestsPerMinute: number;
  maxConcurrent: number;
  monthlyLimit: string | null;
  allowedModels: readonly string[] | null;
  expiresAt: Date | null;
  isExpired: boolean;
  /** May lie ahead, and until then the key is in force. */
  revokedAt: Date | null;
  isRevoked: boolean;
  createdAt: Date;
  lastUsedAt: Date | null;
  monthSpent: string;
  held: string;
}>;

type KeyRow = {
  id: string;
  name: string;
  hint: string;
  requests_per_minute: number;
  max_concurrent: number;
  monthly_limit: string | null;
  allowed_models: string[] | null;
  expires_at: Date | null;
  is_expired: boolean;
  revoked_at: Date | null;
  is_revoked: boolean;
  created_at: Date;
  last_used_at: Date | null;
  month_spent: string;
  held: string;
};
/** A member of an account without keys is one row all the same. */
type FoundRow = ({ id: null } | KeyRow) & { role: Role };

/** Operators can go beyond it: nobody has to be protected from them. */
const mostInForce = 1_000;
/** In a list, of those that were revoked or have expired. */
const mostEndedKeys = 200;

/** The newest first: those in force, and the last few that are not. Only this one where an ID is given. */
export async function findKeys(
  sql: SQL,
  { userId, accountId }: Caller,
  keyId: string | null = null,
): Promise<KeyRecord[]> {
  const rows = await sql<FoundRow[]>`
    select memberships.role, keys.id, name, hint, requests_per_minute, max_concurrent, monthly_limit,
           allowed_models, expires_at, is_expired, revoked_at, is_revoked, keys.created_at, last_used_at, held,
           -- A key that was not used this month still has the sum of the month in which it was.
           case when month = date_trunc('month', now() at time zone 'UTC') then month_spent else 0::numeric(38,12) end as month_spent
    from memberships
    left join lateral (
      select *, row_number() over (partition by is_expired or is_revoked order by id desc) as place
      from (
        select *, coalesce(expires_at <= now(), false) as is_expired, coalesce(revoked_at <= now(), false) as is_revoked
        from api_keys
        where account_id = memberships.account_id and (${keyId}::uuid is null or id = ${keyId}::uuid)
      ) as of_account
    ) as keys on place <= ${mostEndedKeys} or not (is_expired or is_revoked)
    left join api_key_meters on key_id = keys.id
    where user_id = ${userId} and memberships.account_id = ${accountId}
    order by keys.id desc`;
  requireMember(rows[0]?.role);
  return rows.filter((row) => row.id !== null).map(toRecord);
}

export async function insertKey(
  sql: SQL,
  caller: Caller,
  secret: string,
  settings: KeySettings,
): Promise<KeyRecord> {
  const id = newId();
  return await sql.begin(async (transaction) => {
    await waitForOthers(transaction, caller);
    const [row] = await transaction<{ role: Role }[]>`
      with caller as (
        select account_id, role from memberships where user_id = ${caller.userId} and account_id = ${caller.accountId}
      ), created as (
        insert into api_keys (id, account_id, name, hash, hint, requests_per_minute, max_concurrent, monthly_limit,
          allowed_models, expires_at)
        select ${id}, account_id, ${settings.name}, ${hashKey(secret)}, ${keyHint(secret)}, ${settings.requestsPerMinute},
               ${settings.maxConcurrent}, ${amountOf(settings.monthlyLimit)}::numeric, ${listOf(sql, settings.allowedModels)}::text[],
               ${settings.expiresAt}::timestamptz
        from caller where role = 'owner'
        returning id
      ), metered as (
        insert into api_key_meters (key_id) select id from created
      )
      select role from caller`;
    requireOwner(row?.role);
    await refuseTooMany(transaction, caller);
    return await readBack(transaction, caller, id);
  });
}

/** What the catalogue does not have may stay on an allowlist, but not come onto it. A revoked key stays as it is. */
export async function updateKey(
  sql: SQL,
  caller: Caller,
  keyId: string,
  change: Partial<KeySettings>,
  isKnownModel: (id: string) => boolean,
): Promise<KeyRecord> {
  const { name = null, requestsPerMinute = null, maxConcurrent = null } = change;
  const { monthlyLimit, allowedModels, expiresAt } = change;
  return await sql.begin(async (transaction) => {
    if (expiresAt !== undefined) await waitForOthers(transaction, caller);
    const [row] = await transaction<ChangeRow[]>`
      with caller as (
        select account_id, role from memberships where user_id = ${caller.userId} and account_id = ${caller.accountId}
      ), found as (
        select id, allowed_models, coalesce(revoked_at <= now(), false) as is_revoked,
               coalesce(expires_at <= now(), false) as was_expired
        from api_keys join caller using (account_id)
        where id = ${keyId} and role = 'owner' for no key update of api_keys
      ), written as (
        update api_keys
        set name = coalesce(${name}::text, name),
            requests_per_minute = coalesce(${requestsPerMinute}::int, requests_per_minute),
            max_concurrent = coalesce(${maxConcurrent}::int, max_concurrent),
            monthly_limit = case when ${monthlyLimit !== undefined}::bool
              then ${amountOf(monthlyLimit ?? null)}::numeric else monthly_limit end,
            allowed_models = case when ${allowedModels !== undefined}::bool
              then ${listOf(sql, allowedModels ?? null)}::text[] else api_keys.allowed_models end,
            expires_at = case when ${expiresAt !== undefined}::bool
              then ${expiresAt ?? null}::timestamptz else expires_at end
        from found where api_keys.id = found.id
      )
      select role, found.id as found, allowed_models as former_models, is_revoked, was_expired
      from caller left join found on true`;
    // What is thrown from here on undoes the change.
    requireFound(row);
    if (row?.is_revoked) throw new ApiError('key_ended');
    refuseUnknownModels(
      allowedModels ?? [],
      (id) => isKnownModel(id) || row?.former_models?.includes(id) === true,
    );
    if (row?.was_expired && expiresAt !== undefined) await refuseTooMany(transaction, caller);
    return await readBack(transaction, caller, keyId);
  });
}

/** The new key has the settings of the old one, which ends at `revokeAt`; null is now. A key is replaced once. */
export async function insertReplacement(
  sql: SQL,
  caller: Caller,
  keyId: string,
  secret: string,
  revokeAt: Date | null,
): Promise<KeyRecord> {
  const id = newId();
  return await sql.begin(async (transaction) => {
    if (revokeAt !== null) await waitForOthers(transaction, caller);
    const [row] = await transaction<(WriteRow & { written: string | null })[]>`
      with caller as (
        select account_id, role from memberships where user_id = ${caller.userId} and account_id = ${caller.accountId}
      ), found as (
        select api_keys.* from api_keys join caller using (account_id)
        where api_keys.id = ${keyId} and role = 'owner' for no key update of api_keys
      ), ended as (
        update api_keys set revoked_at = coalesce(${revokeAt}::timestamptz, now()) from found
        where api_keys.id = found.id and found.revoked_at is null and coalesce(found.expires_at > now(), true)
        returning api_keys.id
      ), written as (
        insert into api_keys (id, account_id, name, hash, hint, requests_per_minute, max_concurrent, monthly_limit,
          allowed_models, expires_at)
        select ${id}, account_id, name, ${hashKey(secret)}, ${keyHint(secret)}, requests_per_minute, max_concurrent,
               monthly_limit, allowed_models, expires_at
        from found join ended using (id)
        returning id
      ), metered as (
        insert into api_key_meters (key_id) select id from written
      )
      select role, found.id as found, written.id as written
      from caller left join found on true left join written on true`;
    requireFound(row);
    if (row?.written === null) throw new ApiError('key_ended');
    if (revokeAt !== null) await refuseTooMany(transaction, caller);
    return await readBack(transaction, caller, id);
  });
}

/** At once. A key that was revoked before stays as it was. */
export async function endKey(sql: SQL, caller: Caller, keyId: string): Promise<KeyRecord> {
  return await sql.begin(async (transaction) => {
    const [row] = await transaction<WriteRow[]>`
      with caller as (
        select account_id, role from memberships where user_id = ${caller.userId} and account_id = ${caller.accountId}
      ), found as (
        update api_keys set revoked_at = least(revoked_at, now()) from caller
        where api_keys.account_id = caller.account_id and role = 'owner' and id = ${keyId}
        returning id
      )
      select role, found.id as found from caller left join found on true`;
    requireFound(row);
    return await readBack(transaction, caller, keyId);
  });
}

/** What a statement says of itself: who asked, and whether there is such a key. */
type WriteRow = { role: Role; found: string | null };
type ChangeRow = WriteRow & { is_revoked: boolean; was_expired: boolean; former_models: string[] | null };

function requireFound(row: WriteRow | undefined): void {
  requireOwner(row?.role);
  if (row?.found === null) throw new ApiError('key_not_found');
}

/**
 * Before anything that adds to the keys in force, so that each sees what those before it have added. It is the members
 * who are locked, because the ledger locks the account for every request.
 */
async function waitForOthers(transaction: SQL, { userId, accountId }: Caller): Promise<void> {
  await transaction`
    select 1 from memberships
    where account_id = ${accountId}
      and exists (
        select 1 from memberships where user_id = ${userId} and account_id = ${accountId} and role = 'owner'
      )
    order by user_id for no key update`;
}

async function refuseTooMany(transaction: SQL, { accountId }: Caller): Promise<void> {
  const [row] = await transaction<[{ in_force: number }]>`
    select count(*)::int as in_force from api_keys
    where account_id = ${accountId} and coalesce(revoked_at > now(), true) and coalesce(expires_at > now(), true)`;
  if (row.in_force > mostInForce) throw new ApiError('too_many_keys');
}

/** As part of the transaction that wrote it, so that a secret is never made for a key that cannot be shown. */
async function readBack(transaction: SQL, caller: Caller, keyId: string): Promise<KeyRecord> {
  const [key] = await findKeys(transaction, caller, keyId);
  if (key === undefined) throw new ApiError('key_not_found');
  return key;
}

function amountOf(money: Money | null): string | null {
  return money === null ? null : formatMoney(money);
}

function listOf(sql: SQL, texts: readonly string[] | null) {
  return texts === null ? null : sql.array([...texts], 'text');
}

function toRecord(row: KeyRow): KeyRecord {
  return {
    id: row.id,
    name: row.name,
    hint: row.hint,
    requestsPerMinute: row.requests_per_minute,
    maxConcurrent: row.max_concurrent,
    monthlyLimit: row.monthly_limit,
    allowedModels: row.allowed_models,
    expiresAt: row.expires_at,
    isExpired: row.is_expired,
    revokedAt: row.revoked_at,
    isRevoked: row.is_revoked,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    monthSpent: row.month_spent,
    held: row.held,
  };
}
