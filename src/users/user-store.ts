import type { SQL, TransactionSQL } from 'bun';
import { z } from 'zod';
import { newId } from '../lib/ids.ts';
import { hashPassword, ownTicket } from './password.ts';

export type Role = 'owner' | 'member';

export type NewUser = Readonly<{
  email: string;
  /** Null for someone who chooses a password by a link. */
  password: string | null;
  isOperator: boolean;
  accountId: string | null;
  /** What the user is in that account. */
  role: Role;
}>;

type CreatedUser = Readonly<{ id: string; email: string }>;

/** Null when the address is taken already. The account must exist. `record` is part of the transaction. */
export async function createUser(
  sql: SQL,
  user: NewUser,
  record?: (transaction: TransactionSQL, created: CreatedUser) => Promise<void>,
): Promise<CreatedUser | null> {
  const passwordHash = user.password === null ? null : await hashPassword(user.password, ownTicket);
  return await sql.begin(async (transaction) => {
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

type UserRow = Readonly<{
  email: string;
  name: string;
  passwordHash: string | null;
  isOperator: boolean;
  isEmailVerified: boolean;
}>;

/** As part of a transaction that does more. Null when the address is taken already. */
export async function insertUser(transaction: TransactionSQL, user: UserRow): Promise<CreatedUser | null> {
  const id = newId();
  const email = user.email.toLowerCase();
  const created = await transaction`
    insert into users (id, email, name, email_verified, is_operator)
    values (${id}, ${email}, ${user.name}, ${user.isEmailVerified}, ${user.isOperator})
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

/** Gives a user this password, whether or not there was one before. */
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

/** Of all who change the same users at once, one goes first; always in the same order, so that nobody waits in a circle. */
export async function lockUsers(
  transaction: TransactionSQL,
  firstId: string,
  secondId: string = firstId,
): Promise<void> {
  await transaction`
    select 1 from users where id in (${firstId}, ${secondId}) order by id for no key update`;
}

export type Credential = Readonly<{ userId: string; passwordHash: string }>;

/** Null also for someone who has not chosen a password yet. */
export async function findCredential(sql: SQL, email: string): Promise<Credential | null> {
  const [row] = await sql<{ user_id: string; password: string }[]>`
    select user_id, password from users join user_credentials on user_id = users.id
    where email = ${email.toLowerCase()} and provider_id = 'credential'
      and provider_account_id = user_id::text and password is not null`;
  return row ? { userId: row.user_id, passwordHash: row.password } : null;
}

export async function findUserByEmail(sql: SQL, email: string): Promise<CreatedUser | null> {
  const [row] = await sql<CreatedUser[]>`select id, email from users where email = ${email.toLowerCase()}`;
  return row ?? null;
}

/** What users see of themselves. */
export type UserProfile = Readonly<{
  id: string;
  email: string;
  name: string;
  image: string | null;
  isEmailVerified: boolean;
  isOperator: boolean;
  createdAt: Date;
  updatedAt: Date;
}>;

type UserProfileRow = {
  id: string;
  email: string;
  name: string;
  image: string | null;
  email_verified: boolean;
  is_operator: boolean;
  created_at: Date;
  updated_at: Date;
};

export async function findProfile(sql: SQL, userId: string): Promise<UserProfile | null> {
  const [row] = await sql<UserProfileRow[]>`
    select id, email, name, image, email_verified, is_operator, created_at, updated_at
    from users where id = ${userId}`;
  if (!row) return null;
  return {
    id: row.id,
    email: row.email,
    name: row.name,
    image: row.image,
    isEmailVerified: row.email_verified,
    isOperator: row.is_operator,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

type UserSummary = Readonly<{
  id: string;
  email: string;
  isOperator: boolean;
  accounts: readonly Readonly<{ id: string; role: Role }>[];
  createdAt: Date;
}>;

type UserSummaryRow = {
  id: string;
  email: string;
  is_operator: boolean;
  accounts: { id: string; role: Role }[];
  created_at: Date;
};

export async function listUsers(sql: SQL): Promise<UserSummary[]> {
  const rows = await sql<UserSummaryRow[]>`
    select users.id, email, is_operator, users.created_at,
           coalesce(json_agg(json_build_object('id', account_id, 'role', role) order by account_id)
                    filter (where account_id is not null), '[]') as accounts
    from users left join memberships on user_id = users.id
    group by users.id order by users.id`;
  return rows.map((row) => ({
    id: row.id,
    email: row.email,
    isOperator: row.is_operator,
    accounts: row.accounts,
    createdAt: row.created_at,
  }));
}

/** The part before the @, until the user chooses another name. */
export function nameFrom(email: string): string {
  return email.toLowerCase().split('@')[0] ?? '';
}

const maxAddress = 254;
const emailAddress = z.email().max(maxAddress);

/** The one rule for whom there can be a sign-in: what is accepted here can also be typed there. */
export function isEmailAddress(text: string): boolean {
  return emailAddress.safeParse(text).success;
}
