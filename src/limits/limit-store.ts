/** The limits of accounts, keys and end users, as they are set, shown and removed. */
import type { SQL, TransactionSQL } from 'bun';
import { type Actor, differenceOf, type Fields, recordChange } from '../audit-log/audit-log.ts';
import { ApiError } from '../errors.ts';
import { isUniqueViolation } from '../ledger/database-error.ts';
import { isSpend, windowEndMs } from '../ledger/decide-limits.ts';
import type { LimitKind, LimitScope } from '../ledger/operations.ts';
import { newId } from '../lib/ids.ts';
import { formatMoney, formatMoneyShort, type Money, moneyFromDatabase } from '../lib/money.ts';

/** The kinds that a limit of a key can have: for the others a key has settings. */
export const kindsOfKeys: readonly LimitKind[] = ['spend_per_day', 'spend_per_week', 'tokens_per_minute'];

/** Of either party, so that neither can use up what the other needs. */
export const maxLimitsOfAccount = 10_000;

/** Added to the amount until then. */
export type Increase = Readonly<{ amount: Money; until: Date }>;

/** Amounts are in USD, requests or tokens, all on the scale of money. */
export type LimitDraft = Readonly<{
  accountId: string;
  scope: LimitScope;
  /** For the scope `key`. */
  keyId: string | null;
  /** For the scope `end_user`. */
  endUser: string | null;
  kind: LimitKind;
  amount: Money;
  increase: Increase | null;
  setBy: 'operator' | 'account';
}>;

export type Limit = LimitDraft &
  Readonly<{
    id: string;
    /** For the scope `key`. */
    keyName: string | null;
    /** In the current window. Null for a limit of each end user, who have meters of their own. */
    used: Money | null;
    held: Money | null;
    /** Null if it counts from the beginning of the current window on. */
    countedSince: Date | null;
    /** When the next window begins; null if it has none. */
    resetsAt: Date | null;
    createdAt: Date;
    updatedAt: Date;
  }>;

/** What is undefined stays as it is. */
export type LimitChange = Readonly<{ amount?: Money | undefined; increase?: Increase | null | undefined }>;

type LimitRow = Readonly<{
  id: string;
  account_id: string;
  scope: LimitScope;
  key_id: string | null;
  key_name: string | null;
  end_user: string | null;
  kind: LimitKind;
  amount: string;
  increase: string | null;
  increase_until: Date | null;
  is_operators: boolean;
  used: string | null;
  held: string | null;
  counted_since: Date | null;
  created_at: Date;
  updated_at: Date;
}>;

/** Which of an account's limits; without a filter, all. */
export type LimitFilter = Readonly<{
  keyId?: string | null;
  endUser?: string | null;
  /** Those that are older than the one with this ID. */
  before?: string;
  count?: number;
}>;

/** The newest first. */
export async function listLimits(sql: SQL, accountId: string, filter: LimitFilter = {}): Promise<Limit[]> {
  const account = sql`(select ${accountId}::uuid as account_id)`;
  return (await readLimits(sql, account, filter)) ?? [];
}

/** `account` has a row with the `account_id`, if the caller may read its limits. Without one, this is null. */
export async function readLimits(
  sql: SQL,
  account: SQL.Query<unknown>,
  filter: LimitFilter = {},
): Promise<Limit[] | null> {
  const { keyId = null, endUser = null, before = null, count = null } = filter;
  const rows = await sql<(LimitRow | { id: null })[]>`
    select found.* from ${account} as readable left join lateral (
      ${limitRows(sql)}
      where limits.account_id = readable.account_id and (${keyId}::uuid is null or limits.key_id = ${keyId}::uuid)
        and (${endUser}::text is null or limits.end_user = ${endUser}::text)
        and (${before}::uuid is null or limits.id < ${before}::uuid)
      order by limits.id desc limit ${count}::bigint
    ) as found on true
    order by found.id desc`;
  if (rows.length === 0) return null;
  return rows.filter((row): row is LimitRow => row.id !== null).map(limitFrom);
}

/** What applies to every request of a key, whoever it is for, and to each end user. */
export async function findLimitsOfKey(sql: SQL, keyId: string): Promise<Limit[]> {
  const rows = await sql<LimitRow[]>`
    ${limitRows(sql)} join api_keys on api_keys.id = ${keyId} and api_keys.account_id = limits.account_id
    where scope in ('account', 'each_end_user') or limits.key_id = api_keys.id
    order by limits.id`;
  return rows.map(limitFrom);
}

/** Without an account, a limit of any account: for the operator. */
export async function findLimit(
  sql: SQL,
  id: string,
  accountId: string | null = null,
): Promise<Limit | null> {
  const [row] = await sql<LimitRow[]>`
    ${limitRows(sql)} where limits.id = ${id} and (${accountId}::uuid is null or limits.account_id = ${accountId}::uuid)`;
  return row === undefined ? null : limitFrom(row);
}

/** What end users have spent before is not added up: their limits count from when they are set, or that of each before them. */
function limitRows(sql: SQL) {
  return sql`
    select limits.id, limits.account_id, scope, limits.key_id, limits.end_user, kind, amount, increase, increase_until,
           is_operators, limits.created_at, updated_at,
           (select name from api_keys where api_keys.id = limits.key_id) as key_name,
           case when window_start = limit_window(kind, now()) then used else 0 end::numeric(38,12) as used,
           held::numeric(38,12) as held,
           (select began_at from (
              select least(limits.created_at, (
                select each.created_at from limits as each
                where each.account_id = limits.account_id and each.scope = 'each_end_user' and each.kind = limits.kind
                  and each.is_operators = limits.is_operators)) as began_at
            ) as counting
            where scope in ('end_user', 'each_end_user')
              and began_at > limit_window(kind, now()) at time zone 'UTC') as counted_since
    from limits left join limit_meters on limit_meters.id = limits.id`;
}

function limitFrom(row: LimitRow): Limit {
  const { increase, increase_until: until } = row;
  const isOfEach = row.scope === 'each_end_user';
  const resetsAtMs = windowEndMs(row.kind, Date.now());
  return {
    id: row.id,
    accountId: row.account_id,
    scope: row.scope,
    keyId: row.key_id,
    keyName: row.key_name,
    endUser: row.end_user,
    kind: row.kind,
    amount: moneyFromDatabase(row.amount),
    increase: increase === null || until === null ? null : { amount: moneyFromDatabase(increase), until },
    setBy: row.is_operators ? 'operator' : 'account',
    used: isOfEach ? null : moneyFromDatabase(row.used ?? '0'),
    held: isOfEach ? null : moneyFromDatabase(row.held ?? '0'),
    // The others count for a minute at most.
    countedSince: isSpend(row.kind) ? row.counted_since : null,
    resetsAt: resetsAtMs === null ? null : new Date(resetsAtMs),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/**
 * What was spent before in the same window counts. What is open counts only if it begins afterwards. Requests of the account
 * wait meanwhile, so `spent_since` takes the sums by day, and adds up only what came after them.
 */
export async function createLimitAs(
  transaction: TransactionSQL,
  actor: Actor,
  draft: LimitDraft,
): Promise<Limit> {
  const { accountId, scope, keyId, endUser, kind, amount, increase, setBy } = draft;
  const isOperators = setBy === 'operator';
  const id = newId();
  await lockAccount(transaction, accountId);
  if (keyId !== null) {
    const [key] = await transaction`select 1 from api_keys where id = ${keyId} and account_id = ${accountId}`;
    if (key === undefined) throw new ApiError('key_not_found');
  }
  const [{ count }] = await transaction<[{ count: number }]>`
    select count(*)::int as count from limits where account_id = ${accountId} and is_operators = ${isOperators}`;
  if (count >= maxLimitsOfAccount) throw new ApiError('too_many_limits');
  await transaction`
    insert into limits (id, account_id, scope, key_id, end_user, kind, amount, increase, increase_until, is_operators)
    values (${id}, ${accountId}, ${scope}, ${keyId}, ${endUser}, ${kind}, ${formatMoney(amount)}::text::numeric,
            ${increase && formatMoney(increase.amount)}::text::numeric, ${increase?.until ?? null}, ${isOperators})`.catch(
    (error: unknown) => {
      throw isUniqueViolation(error) ? new ApiError('limit_exists') : error;
    },
  );
  if (scope !== 'each_end_user') await createMeter(transaction, id, draft);
  await recordChange(transaction, actor, {
    action: 'create_limit',
    accountId,
    object: { type: 'limit', id },
    after: describe(draft),
  });
  await changeVersion(transaction, accountId);
  return await existing(transaction, id);
}

async function createMeter(transaction: TransactionSQL, id: string, draft: LimitDraft): Promise<void> {
  const { accountId, keyId, endUser, kind, setBy } = draft;
  if (endUser !== null) {
    // What counted towards the limit of each end user goes on counting.
    await transaction`
      insert into limit_meters (id, limit_id, window_start, used)
      select ${id}, ${id}, coalesce(window_start, '-infinity'), coalesce(used, 0)
      from (select) as one left join (
        select window_start, used from limits join limit_meters as meter
          on meter.id = limit_meter_id(limits.id, ${endUser}::text)
        where limits.account_id = ${accountId} and scope = 'each_end_user' and kind = ${kind}
          and is_operators = ${setBy === 'operator'}
      ) as before on true`;
    return;
  }
  await transaction`
    insert into limit_meters (id, limit_id, window_start, used)
    select ${id}, ${id}, this_window,
           case when ${isSpend(kind)} then spent_since(${accountId}, ${keyId}, this_window::date) else 0 end
    from (select limit_window(${kind}, clock_timestamp()) as this_window) as current`;
}

/** For a key that replaces another. What the other has used does not count. */
export async function copyLimitsOfKey(
  transaction: TransactionSQL,
  actor: Actor,
  accountId: string,
  { from, to }: Readonly<{ from: string; to: string }>,
): Promise<void> {
  for (const limit of await listLimits(transaction, accountId, { keyId: from }))
    await createLimitAs(transaction, actor, { ...limit, keyId: to });
}

/** A change applies to the next request on every node. `check` sees the limit as it is, and may throw. */
export async function updateLimitAs(
  transaction: TransactionSQL,
  actor: Actor,
  id: string,
  change: LimitChange,
  check: (limit: Limit) => void = () => undefined,
): Promise<Limit> {
  const before = await existing(transaction, id, true);
  check(before);
  const after = {
    kind: before.kind,
    amount: change.amount ?? before.amount,
    increase: change.increase === undefined ? before.increase : change.increase,
  };
  const difference = differenceOf(amountsOf(before), amountsOf(after));
  if (Object.keys(difference.after).length === 0) return before;
  await transaction`
    update limits
    set amount = ${formatMoney(after.amount)}::text::numeric,
        increase = ${after.increase && formatMoney(after.increase.amount)}::text::numeric,
        increase_until = ${after.increase?.until ?? null}, updated_at = now()
    where id = ${id}`;
  const object = { type: 'limit', id } as const;
  await recordChange(transaction, actor, {
    action: 'update_limit',
    accountId: before.accountId,
    object,
    ...difference,
  });
  return await existing(transaction, id);
}

export async function removeLimitAs(
  transaction: TransactionSQL,
  actor: Actor,
  id: string,
  check: (limit: Limit) => void = () => undefined,
): Promise<void> {
  const { accountId } = await existing(transaction, id);
  // In the order of all others: the account first.
  await lockAccount(transaction, accountId);
  const limit = await existing(transaction, id, true);
  check(limit);
  if (limit.endUser !== null) await leaveToEach(transaction, limit);
  await transaction`delete from limits where id = ${id}`;
  // Those of end users are left to upkeep: there may be very many.
  await transaction`delete from limit_meters where id = ${id}`;
  await recordChange(transaction, actor, {
    action: 'remove_limit',
    accountId,
    object: { type: 'limit', id },
    before: describe(limit),
  });
  await changeVersion(transaction, accountId);
}

/** What was used goes on counting towards the limit that applies to each end user. */
async function leaveToEach(
  transaction: TransactionSQL,
  { id, accountId, endUser, kind, setBy }: Limit,
): Promise<void> {
  await transaction`
    insert into limit_meters as each (id, limit_id, end_user, window_start, used)
    select limit_meter_id(limits.id, ${endUser}::text), limits.id, ${endUser}, own.window_start, own.used
    from limits join limit_meters as own on own.id = ${id}
    where limits.account_id = ${accountId} and scope = 'each_end_user' and kind = ${kind}
      and is_operators = ${setBy === 'operator'}
    on conflict (id) do update set window_start = excluded.window_start, used = excluded.used`;
}

async function lockAccount(transaction: TransactionSQL, accountId: string): Promise<void> {
  const [account] = await transaction`select 1 from accounts where id = ${accountId} for no key update`;
  if (account === undefined) throw new ApiError('account_not_found');
}

async function changeVersion(transaction: TransactionSQL, accountId: string): Promise<void> {
  await transaction`update accounts set limit_version = greatest(limit_version + 1, extract(epoch from now())::int) where id = ${accountId}`;
}

async function existing(sql: SQL, id: string, isLocked = false): Promise<Limit> {
  if (isLocked) await sql`select 1 from limits where id = ${id} for no key update`;
  const limit = await findLimit(sql, id);
  if (limit === null) throw new ApiError('limit_not_found');
  return limit;
}

/** For the audit log: what is set, without what is not. */
function describe(limit: LimitDraft): Fields {
  const { kind, scope, keyId, endUser, setBy } = limit;
  const fields = { kind, scope, key_id: keyId, end_user: endUser, set_by: setBy, ...amountsOf(limit) };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

function amountsOf({ kind, amount, increase }: Pick<Limit, 'kind' | 'amount' | 'increase'>) {
  // An amount with decimals is money, as everywhere in the audit log.
  const written = isSpend(kind) ? formatMoney : formatMoneyShort;
  return {
    amount: written(amount),
    increase: increase === null ? null : written(increase.amount),
    increase_until: increase?.until.toISOString() ?? null,
  };
}

/**
 * Meters of limits that are gone, and of end users whose windows are over or who have no request in progress, a part at a time.
 * A meter that is needed again is made again.
 */
export async function removeOldMeters(sql: SQL): Promise<number> {
  const removed = await sql`
    delete from limit_meters where id in (
      select meter.id from limit_meters as meter left join limits on limits.id = limit_id
      where limits.id is null or meter.end_user is not null and held = 0 and (kind = 'concurrent_requests'
        or window_start < least(limit_window(kind, now()), now() at time zone 'UTC' - interval '1 hour'))
      limit 1000
      for update of meter skip locked)`;
  return removed.count;
}
