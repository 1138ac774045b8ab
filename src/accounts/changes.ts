/** What operators do to accounts, through whichever door. Each change is recorded in its own transaction. */
import type { SQL, TransactionSQL } from 'bun';
import {
  type Actor,
  type Change,
  changeColumns,
  changeValues,
  differenceOf,
  recordChange,
} from '../audit-log/audit-log.ts';
import { ApiError } from '../errors.ts';
import { isUniqueViolation } from '../ledger/database-error.ts';
import { formatMoney, type Money } from '../lib/money.ts';
import { insertAccount } from './account-store.ts';

/** What an operator's own systems store with an account. */
export type Metadata = Readonly<Record<string, string>>;

export type AccountDraft = Readonly<{
  name: string;
  credit: Money;
  /** The ID of the account in another system. */
  externalId?: string | null;
  metadata?: Metadata;
  /** The catalogue has to have it; null is for list prices. */
  priceGroup?: string | null;
  /** A draft that is sent twice with the same reference creates one account. */
  reference?: string | null;
}>;

/** Returns the ID of the new account, or of the one that was created with this reference. */
export async function createAccountAs(
  transaction: TransactionSQL,
  actor: Actor,
  draft: AccountDraft,
): Promise<string> {
  const { name, credit, externalId = null, metadata = {}, priceGroup = null, reference = null } = draft;
  const earlier = reference === null ? null : await createdWith(transaction, reference, draft);
  if (earlier !== null) return earlier;
  const { id } = await insertAccount(transaction, name, credit);
  await transaction`
    insert into account_details (account_id, external_id, metadata, reference)
    values (${id}, ${externalId}, ${JSON.stringify(metadata)}::text::jsonb, ${reference}::uuid)`.catch(
    externalIdTaken,
  );
  if (priceGroup !== null)
    await transaction`update accounts set price_group = ${priceGroup} where id = ${id}`;
  const common = { name, external_id: externalId, metadata };
  const details = priceGroup === null ? common : { ...common, price_group: priceGroup };
  const after = credit === 0n ? details : { ...details, amount: formatMoney(credit) };
  await recordChange(transaction, actor, { action: 'create_account', accountId: id, after });
  return id;
}

async function createdWith(
  transaction: TransactionSQL,
  reference: string,
  { name, credit }: AccountDraft,
): Promise<string | null> {
  // A duplicate that is sent at the same moment waits here, and then finds the account.
  await transaction`select pg_advisory_xact_lock(hashtextextended(${reference}, 0))`;
  const [earlier] = await transaction<{ id: string; is_same: boolean }[]>`
    select accounts.id,
           coalesce(created.after ->> 'name', name) = ${name}
             and coalesce((created.after ->> 'amount')::numeric, 0) = ${formatMoney(credit)}::numeric as is_same
    from account_details join accounts on accounts.id = account_details.account_id
    left join audit_log as created on created.account_id = accounts.id and action = 'create_account'
    where reference = ${reference}`;
  if (earlier?.is_same === false)
    throw new ApiError('invalid_parameter', {
      param: 'reference',
      message: 'This reference has been used for another account. A new account needs a new one.',
    });
  return earlier?.id ?? null;
}

/** What can be changed of an account, by its names on the wire. */
export type AccountState = Readonly<{
  name: string;
  external_id: string | null;
  metadata: Metadata;
  price_group: string | null;
  /** Below it the account is warned; null for never. */
  low_balance: string | null;
  is_suspended: boolean;
}>;

/** What is undefined stays as it is. */
export type AccountChange = Readonly<{
  name?: string | undefined;
  externalId?: string | null | undefined;
  metadata?: Metadata | undefined;
  /** The catalogue has to have it; null is for list prices. */
  priceGroup?: string | null | undefined;
  lowBalance?: Money | null | undefined;
}>;

/** `check` sees what is about to be changed, and may throw. */
export async function updateAccountAs(
  transaction: TransactionSQL,
  actor: Actor,
  id: string,
  change: AccountChange,
  check: (current: AccountState) => void = () => undefined,
): Promise<void> {
  const stored = await lockDetails(transaction, id);
  check(stored);
  const before = { ...stored, metadata: inOrder(stored.metadata) };
  const after: AccountState = {
    ...before,
    name: change.name ?? before.name,
    external_id: change.externalId === undefined ? before.external_id : change.externalId,
    metadata: change.metadata === undefined ? before.metadata : inOrder(change.metadata),
    price_group: change.priceGroup === undefined ? before.price_group : change.priceGroup,
    low_balance:
      change.lowBalance === undefined
        ? before.low_balance
        : change.lowBalance === null
          ? null
          : formatMoney(change.lowBalance),
  };
  const difference = differenceOf(before, after);
  if (Object.keys(difference.after).length === 0) return;
  await transaction`
    update account_details
    set external_id = ${after.external_id}, metadata = ${JSON.stringify(after.metadata)}::text::jsonb,
        low_balance = ${after.low_balance}::text::numeric
    where account_id = ${id}`.catch(externalIdTaken);
  await recordChange(transaction, actor, { action: 'update_account', accountId: id, ...difference });
  // Last, because requests of the account wait while this row is locked.
  // The database notifies every node of a price group, so the next request is charged by it.
  if (after.name !== before.name || after.price_group !== before.price_group)
    await transaction`
      update accounts set name = ${after.name}, price_group = ${after.price_group}::text where id = ${id}`;
}

/** The database keeps no order, so two that are the same may be written in two ways. */
function inOrder(metadata: Metadata): Metadata {
  return Object.fromEntries(Object.entries(metadata).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** Locks what no request needs, so that none has to wait. */
async function lockDetails(transaction: TransactionSQL, id: string): Promise<AccountState> {
  await transaction`
    insert into account_details (account_id) select id from accounts where id = ${id} on conflict do nothing`;
  await transaction`select 1 from account_details where account_id = ${id} for no key update`;
  const [state] = await transaction<AccountState[]>`
    select name, external_id, metadata, price_group, low_balance, suspended_at is not null as is_suspended
    from accounts join account_details on account_id = id where id = ${id}`;
  if (state === undefined) throw new ApiError('account_not_found');
  return state;
}

/** Of two accounts that get the same one at the same time, the second comes here. */
function externalIdTaken(error: unknown): never {
  throw isUniqueViolation(error) ? new ApiError('external_id_taken', { param: 'external_id' }) : error;
}

/**
 * The database notifies every node of the change. One statement, because requests of the account wait while its row is
 * locked. False when there is no such account.
 */
export async function suspendAccountAs(
  sql: SQL,
  actor: Actor,
  id: string,
  isSuspended: boolean,
): Promise<boolean> {
  const change: Change = {
    action: isSuspended ? 'suspend_account' : 'resume_account',
    accountId: id,
    before: { is_suspended: !isSuspended },
    after: { is_suspended: isSuspended },
  };
  const found = await sql`
    with changed as (
      update accounts set suspended_at = case when ${isSuspended}::boolean then now() end
      where id = ${id} and (suspended_at is not null) <> ${isSuspended}::boolean
      returning id
    ), noted as (
      insert into audit_log (${changeColumns(sql)}) select ${changeValues(sql, actor, change)} from changed
    )
    select id from accounts where id = ${id}`;
  return found.length > 0;
}
