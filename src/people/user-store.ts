import type { SQL, TransactionSQL } from 'bun';
import { z } from 'zod';
import type { Fields } from '../audit-log/audit-log.ts';
import { newId } from '../lib/ids.ts';
import { shortTransaction } from '../lib/short-transaction.ts';
import { hashPassword, ownTicket } from './password.ts';

export type Role = 'owner' | 'member';

export type NewUser = Readonly<{
  email: string;
  /** Null for a user who will choose a password through a link. */
  password: string | null;
  isOperator: boolean;
  accountId: string | null;
  role: Role;
}>;

type CreatedUser = Readonly<{ id: string; email: string }>;

/** Null when the address is taken. The account must exist. `record` is part of the transaction. */
export async function createUser(
  sql: SQL,
  user: NewUser,
  record?: (transaction: TransactionSQL, created: CreatedUser) => Promise<void>,
): Promise<CreatedUser | null> {
  const passwordHash = user.password === null ? null : await hashPassword(user.password, ownTicket);
  return await shortTransaction(sql, async (transaction) => {
    const created = await insertUser(transaction, {
      email: user.email,
      name: nameFrom(user.email),
      passwordHash,
      isOperator: user.isOperator,
      isEmailVerified: true,
    });
    if (created !== null && user.accountId !== null)
      await insertMembership(transaction, created.id, user.accountId, user.role);
    if (created !== null) await record?.(transaction, created);
    return created;
  });
}

/** What the log says of a new user. */
export function describeNewUser({
  email,
  isOperator,
  accountId,
  role,
}: Pick<NewUser, 'email' | 'isOperator' | 'accountId' | 'role'>): Fields {
  const user = { email: email.toLowerCase(), is_operator: isOperator };
  return accountId === null ? user : { ...user, role };
}

type UserRow = Readonly<{
  email: string;
  name: string;
  passwordHash: string | null;
  isOperator: boolean;
  isEmailVerified: boolean;
  /** Whether they may only look until the address is verified. */
  mustVerifyEmail?: boolean;
}>;

/** Null when the address is taken. */
export async function insertUser(transaction: TransactionSQL, user: UserRow): Promise<CreatedUser | null> {
  const id = newId();
  const email = user.email.toLowerCase();
  const created = await transaction`
    insert into users (id, email, name, email_verified, must_verify_email, is_operator)
    values (${id}, ${email}, ${user.name}, ${user.isEmailVerified}, ${user.mustVerifyEmail ?? false}, ${user.isOperator})
    on conflict (email) do nothing returning id`;
  if (created.length === 0) return null;
  if (user.passwordHash !== null) await putPassword(transaction, id, user.passwordHash);
  return { id, email };
}

export async function insertMembership(
  transaction: TransactionSQL,
  userId: string,
  accountId: string,
  role: Role,
): Promise<void> {
  await transaction`
    insert into memberships (user_id, account_id, role) values (${userId}, ${accountId}, ${role})`;
}

/** Sets a user's password, whether or not there was one before. */
export async function putPassword(
  transaction: TransactionSQL,
  userId: string,
  passwordHash: string,
): Promise<void> {
  await transaction`
    insert into user_credentials (id, user_id, provider_id, provider_account_id, password)
    values (${newId()}, ${userId}, 'credential', ${userId}, ${passwordHash})
    on conflict (provider_id, provider_account_id)
    do update set password = excluded.password, updated_at = now()`;
}

export async function findPasswordHash(sql: SQL, userId: string): Promise<string | null> {
  const [row] = await sql<{ password: string | null }[]>`
    select password from user_credentials
    where user_id = ${userId} and provider_id = 'credential' and provider_account_id = ${userId}::text`;
  return row?.password ?? null;
}

/** Waits for a change of the password that is in progress, and returns the result. */
export async function isPasswordHash(sql: SQL, userId: string, passwordHash: string): Promise<boolean> {
  const found = await sql`
    select 1 from user_credentials
    where user_id = ${userId} and provider_id = 'credential' and provider_account_id = ${userId}::text
      and password = ${passwordHash}
    for share`;
  return found.length > 0;
}

/** Serializes changes to the same users. The locks are always taken in the same order, so there is no deadlock. */
export async function lockUsers(
  transaction: TransactionSQL,
  firstId: string,
  secondId: string = firstId,
): Promise<void> {
  await transaction`
    select 1 from users where id in (${firstId}, ${secondId}) order by id for no key update`;
}

export type Credential = Readonly<{ userId: string; passwordHash: string }>;

/** Null also for a user who has not chosen a password yet. */
export async function findCredential(sql: SQL, email: string): Promise<Credential | null> {
  const [credential] = await sql<Credential[]>`
    select user_id as "userId", password as "passwordHash"
    from users join user_credentials on user_id = users.id
    where email = ${email.toLowerCase()} and provider_id = 'credential'
      and provider_account_id = user_id::text and password is not null`;
  return credential ?? null;
}

type FoundUser = CreatedUser & Readonly<{ isEmailVerified: boolean }>;

export async function findUserByEmail(sql: SQL, email: string): Promise<FoundUser | null> {
  const [row] = await sql<FoundUser[]>`
    select id, email, email_verified as "isEmailVerified" from users where email = ${email.toLowerCase()}`;
  return row ?? null;
}

/** What users see of themselves, under the names that better-auth uses. */
export type UserProfile = Readonly<{
  id: string;
  email: string;
  name: string;
  image: string | null;
  emailVerified: boolean;
  isOperator: boolean;
  createdAt: Date;
  updatedAt: Date;
}>;

export async function findProfile(sql: SQL, userId: string): Promise<UserProfile | null> {
  const [profile] = await sql<UserProfile[]>`
    select id, email, name, image, email_verified as "emailVerified", is_operator as "isOperator",
           created_at as "createdAt", updated_at as "updatedAt"
    from users where id = ${userId}`;
  return profile ?? null;
}

type UserSummary = Readonly<{
  id: string;
  email: string;
  isOperator: boolean;
  accounts: readonly Readonly<{ id: string; role: Role }>[];
  createdAt: Date;
}>;

export async function listUsers(sql: SQL): Promise<UserSummary[]> {
  return await sql<UserSummary[]>`
    select users.id, email, is_operator as "isOperator", users.created_at as "createdAt",
           coalesce(json_agg(json_build_object('id', account_id, 'role', role) order by account_id)
                    filter (where account_id is not null), '[]') as accounts
    from users left join memberships on user_id = users.id
    group by users.id order by users.id`;
}

/** The part before the @, until the user chooses another name. */
export function nameFrom(email: string): string {
  return email.toLowerCase().split('@')[0] ?? '';
}

const maxAddress = 254;
const emailAddress = z.email().max(maxAddress);

/** The same rule for creating a user and for signing in, so that everyone who was created can sign in. */
export function isEmailAddress(text: string): boolean {
  return emailAddress.safeParse(text).success;
}
