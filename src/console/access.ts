/** Who is calling, which account the call is about, and what the caller's role permits. The queries enforce it. */
import type { SQL, TransactionSQL } from 'bun';
import { ApiError, type ErrorCode } from '../errors.ts';
import { isUuid } from '../lib/ids.ts';
import { shortTransaction } from '../lib/short-transaction.ts';
import type { SignedIn } from '../people/sessions.ts';
import type { Role } from './contract.ts';

/**
 * Part of every query about an account: nothing is found without this user's membership, unless they are an operator, and
 * nothing is changed without it.
 */
export type Caller = Readonly<{ userId: string; accountId: string }>;

/** The named parts of a path. They are arbitrary text until they have the form of an ID. */
export type PathParameters = Readonly<Record<string, string>>;

/** An ID in the path. A text that cannot be one gets the same response as an ID that does not exist. */
export function idIn(params: PathParameters, name: string, missing: ErrorCode): string {
  const text = params[name] ?? '';
  if (!isUuid(text)) throw new ApiError(missing);
  return text.toLowerCase();
}

export function accountIn(params: PathParameters): string {
  return idIn(params, 'account', 'account_not_found');
}

/** What someone is to an account. An operator who is not a member reads what its owners do, and changes nothing. */
export type Standing = Role | 'operator';

/** Whether an account exists is disclosed to those who may read it only. */
export function requireReader(standing: Standing | undefined): void {
  if (standing === undefined) throw new ApiError('account_not_found');
}

/** For what members alone do, such as to spend the money of the account. */
export function requireMember(standing: Standing | undefined): void {
  requireReader(standing);
  if (standing === 'operator') throw new ApiError('permission_denied');
}

export function requireOwner(standing: Standing | undefined): void {
  requireReader(standing);
  if (standing !== 'owner') throw new ApiError('permission_denied');
}

/** For what other members do not see. */
export function requireOwningReader(standing: Standing | undefined): void {
  requireReader(standing);
  if (standing === 'member') throw new ApiError('permission_denied');
}

export async function findStanding(sql: SQL, caller: Caller): Promise<Standing | undefined> {
  const [row] = await sql<{ standing: Standing }[]>`
    select standing from ${readableAccount(sql, caller)} as readable`;
  return row?.standing;
}

/**
 * Owners change the keys and invitations of an account one after the other, so that each counts what the others have
 * added. The members are locked, because the ledger locks the account with every request.
 */
export async function asOwner<Result>(
  sql: SQL,
  caller: Caller,
  write: (transaction: TransactionSQL) => Promise<Result>,
): Promise<Result> {
  const { userId, accountId } = caller;
  return await shortTransaction(sql, async (transaction) => {
    await transaction`
      select 1 from memberships
      where account_id = ${accountId}
        and exists (
          select 1 from memberships where user_id = ${userId} and account_id = ${accountId} and role = 'owner'
        )
      order by user_id for no key update`;
    requireOwner(await findStanding(transaction, caller));
    return await write(transaction);
  });
}

/** Also locks the user, who therefore remains an operator until the transaction ends. */
export async function requireOperator(transaction: TransactionSQL, userId: string): Promise<void> {
  const found = await transaction`select 1 from users where id = ${userId} and is_operator for share`;
  if (found.length === 0) throw new ApiError('permission_denied');
}

/** Runs a change of an operator, who remains one until it is committed. */
export async function asOperator<Result>(
  sql: SQL,
  { signedIn }: Readonly<{ signedIn: Readonly<{ userId: string }> }>,
  write: (transaction: TransactionSQL) => Promise<Result>,
): Promise<Result> {
  return await shortTransaction(sql, async (transaction) => {
    await requireOperator(transaction, signedIn.userId);
    return await write(transaction);
  });
}

/**
 * Replacing a password first ends the user's sessions and then their invitations. Locking the session keeps one from being
 * created in between. Tokens end before, but whoever makes one waits for the user, and must not find a session after that.
 */
export async function keepSession(
  transaction: TransactionSQL,
  { userId, sessionId }: Pick<SignedIn, 'userId' | 'sessionId'>,
): Promise<void> {
  const found = await transaction`
    select 1 from sessions where id = ${sessionId} and user_id = ${userId} for share`;
  if (found.length === 0) throw new ApiError('session_required');
}

/** One row while the session is in force. */
export function currentSession(sql: SQL, { userId, sessionId }: Pick<SignedIn, 'userId' | 'sessionId'>) {
  return sql`(select 1 from sessions where id = ${sessionId} and user_id = ${userId} and expires_at > now())`;
}

/** Who reads what only operators see: one of them, or a token of the admin API. */
export type OperatorReader = Readonly<{ userId: string }> | Readonly<{ tokenId: string }>;

/** Who reads an account: a member, an operator, or a token of the admin API. */
export type AccountReader = Caller | Readonly<{ tokenId: string; accountId: string }>;

/** One row for an operator and for a token that may read, and none for anyone else. */
export function operatorOnly(sql: SQL, reader: OperatorReader) {
  return 'tokenId' in reader
    ? sql`(select 1 from admin_tokens where id = ${reader.tokenId} and ${mayRead(sql)})`
    : sql`(select 1 from users where id = ${reader.userId} and is_operator)`;
}

/** One row with the ID of the account, for whoever may read it and what they are to it, and none for anyone else. */
export function readableAccount(sql: SQL, reader: AccountReader) {
  return 'tokenId' in reader
    ? sql`(select accounts.id as account_id from accounts, admin_tokens
           where accounts.id = ${reader.accountId} and admin_tokens.id = ${reader.tokenId} and ${mayRead(sql)})`
    : sql`(select accounts.id as account_id, coalesce(role, 'operator') as standing
           from accounts left join memberships on account_id = accounts.id and user_id = ${reader.userId}
           where accounts.id = ${reader.accountId}
             and (role is not null or exists (select 1 from users where id = ${reader.userId} and is_operator)))`;
}

/** The same without members who do not own it. */
export function ownedAccount(sql: SQL, caller: Caller) {
  return sql`(select account_id from ${readableAccount(sql, caller)} as readable where standing <> 'member')`;
}

function mayRead(sql: SQL) {
  return sql`revoked_at is null and expires_at > now() and 'read' = any (scopes)`;
}

/** A caller who may see an empty list gets one row, in which a column that is otherwise never null is null. */
export type Found<Row, Column extends keyof Row> = Row | Readonly<Record<Column, null>>;

/** What a reader of the account may see. Without any row the caller is none. */
export function rowsForReader<Row, Column extends keyof Row>(
  rows: readonly Found<Row, Column>[],
  column: Column,
): Row[] {
  return rowsOr('account_not_found', rows, column);
}

/** What an operator may see. Without any row the caller is not an operator. */
export function rowsForOperator<Row, Column extends keyof Row>(
  rows: readonly Found<Row, Column>[],
  column: Column,
): Row[] {
  return rowsOr('permission_denied', rows, column);
}

function rowsOr<Row, Column extends keyof Row>(
  denial: ErrorCode,
  rows: readonly Found<Row, Column>[],
  column: Column,
): Row[] {
  if (rows.length === 0) throw new ApiError(denial);
  return rows.filter((row): row is Row => row[column] !== null);
}
