import type { SQL } from 'bun';
import { newId } from '../lib/ids.ts';
import { formatMoney, type Money, moneyFromDatabase } from '../lib/money.ts';
import { generateKey, hashKey, keyHint } from './key-format.ts';

/** A key as `api_keys` stores it, except for its hash. */
export type StoredKey = Readonly<{
  id: string;
  name: string;
  /** Such as svc_sk_…a1b2, or sk-…a1b2 for an imported key. */
  hint: string;
  requests_per_minute: number;
  /** How many of its requests may be open at once, on all nodes together. */
  max_concurrent: number;
  /** A decimal with 12 digits. */
  monthly_limit: string | null;
  /** Null allows every model. */
  allowed_models: string[] | null;
  expires_at: Date | null;
  /** May be in the future: until then the key is valid. */
  revoked_at: Date | null;
  created_at: Date;
}>;

/** What the owner of a key chooses. */
export type KeySettings = Readonly<{
  name: string;
  requestsPerMinute: number;
  maxConcurrent: number;
  monthlyLimit: Money | null;
  allowedModels: readonly string[] | null;
  expiresAt: Date | null;
}>;

export type NewKey = Omit<KeySettings, 'maxConcurrent'> &
  Readonly<{ accountId: string; maxConcurrent?: number }>;

/** A setting that is undefined keeps its value. */
export type KeyChange = { readonly [Name in keyof KeySettings]?: KeySettings[Name] | undefined };

/** What serving a request needs to know of its key. */
export type ApiKey = Readonly<{
  id: string;
  accountId: string;
  /** Null allows every model. */
  allowedModels: ReadonlySet<string> | null;
  expiresAt: Date | null;
  revokedAt: Date | null;
  isAccountSuspended: boolean;
  /** Whose prices its account pays; null for list prices. */
  priceGroup: string | null;
  requestsPerMinute: number;
  /** Of its account's limits; 0 if that has never had one. */
  limitVersion: number;
}>;

export const defaultRequestsPerMinute = 600;
export const maxRequestsPerMinute = 1_000_000;
export const defaultMaxConcurrent = 200;
export const maxConcurrentLimit = 100_000;

/** Returns the key itself, which is not stored and cannot be shown again; null when there is no such account. */
export async function createKey(
  sql: SQL,
  input: NewKey,
  key: string = generateKey(),
): Promise<{ id: string; key: string } | null> {
  const id = await insertHashedKey(sql, input, { hash: hashKey(key), hint: keyHint(key) });
  return id === null ? null : { id, key };
}

/** What is stored of a secret. */
export type HashedKey = Readonly<{ hash: Buffer; hint: string }>;

/** Returns the ID of the new key; null when there is no such account. */
export async function insertHashedKey(
  sql: SQL,
  input: NewKey,
  { hash, hint }: HashedKey,
): Promise<string | null> {
  const id = newId();
  const created = await sql`
    with created as (
      insert into api_keys (id, account_id, name, hash, hint, requests_per_minute, max_concurrent, monthly_limit,
        allowed_models, expires_at)
      select ${id}, accounts.id, ${input.name}, ${hash}, ${hint}, ${input.requestsPerMinute},
             ${input.maxConcurrent ?? defaultMaxConcurrent}, ${amountOf(input.monthlyLimit)}::numeric,
             ${listOf(sql, input.allowedModels)}::text[], ${input.expiresAt}::timestamptz
      from accounts where accounts.id = ${input.accountId}
      returning id
    )
    insert into api_key_meters (key_id) select id from created returning key_id`;
  return created.length === 0 ? null : id;
}

/** The settings that a new key needs to replace this one. */
export function settingsOf(key: StoredKey): KeySettings {
  return {
    name: key.name,
    requestsPerMinute: key.requests_per_minute,
    maxConcurrent: key.max_concurrent,
    monthlyLimit: key.monthly_limit === null ? null : moneyFromDatabase(key.monthly_limit),
    allowedModels: key.allowed_models,
    expiresAt: key.expires_at,
  };
}

/** Without an account, a key of any account: for the operator. */
type OwnedKey = Readonly<{ id: string; accountId?: string | null }>;

/** A revoked key cannot be changed. Null when there is no such key. */
export async function updateKey(
  sql: SQL,
  { id, accountId = null }: OwnedKey,
  change: KeyChange,
): Promise<StoredKey | 'revoked' | null> {
  const { name = null, requestsPerMinute = null, maxConcurrent = null } = change;
  const { monthlyLimit, allowedModels, expiresAt } = change;
  const [row] = await sql<(StoredKey | { id: null })[]>`
    with found as (
      select id, coalesce(revoked_at <= now(), false) as is_revoked from api_keys
      where id = ${id} and (${accountId}::uuid is null or account_id = ${accountId}::uuid)
      for no key update
    ), written as (
      update api_keys
      set name = coalesce(${name}::text, name),
          requests_per_minute = coalesce(${requestsPerMinute}::int, requests_per_minute),
          max_concurrent = coalesce(${maxConcurrent}::int, max_concurrent),
          monthly_limit = case when ${monthlyLimit !== undefined}::bool
            then ${amountOf(monthlyLimit ?? null)}::numeric else monthly_limit end,
          allowed_models = case when ${allowedModels !== undefined}::bool
            then ${listOf(sql, allowedModels ?? null)}::text[] else allowed_models end,
          expires_at = case when ${expiresAt !== undefined}::bool
            then ${expiresAt ?? null}::timestamptz else expires_at end
      from found where api_keys.id = found.id and not is_revoked
      returning api_keys.*
    )
    select written.id, name, hint, requests_per_minute, max_concurrent, monthly_limit, allowed_models, expires_at,
           revoked_at, created_at
    from found left join written on true`;
  if (row === undefined) return null;
  return row.id === null ? 'revoked' : row;
}

/** Revokes at once; true when the key was valid until now. */
export async function revokeKey(sql: SQL, { id, accountId = null }: OwnedKey): Promise<boolean> {
  const revoked = await sql`
    update api_keys set revoked_at = now()
    where id = ${id} and (${accountId}::uuid is null or account_id = ${accountId}::uuid)
      and (revoked_at is null or revoked_at > now())
    returning id`;
  return revoked.length > 0;
}

export async function keyExists(sql: SQL, id: string): Promise<boolean> {
  return (await sql`select 1 from api_keys where id = ${id}`).length > 0;
}

export async function listKeys(sql: SQL, accountId: string): Promise<StoredKey[]> {
  return await sql<StoredKey[]>`
    select id, name, hint, requests_per_minute, max_concurrent, monthly_limit, allowed_models, expires_at, revoked_at,
           created_at
    from api_keys where account_id = ${accountId} order by id`;
}

function amountOf(money: Money | null): string | null {
  return money === null ? null : formatMoney(money);
}

function listOf(sql: SQL, texts: readonly string[] | null) {
  return texts === null ? null : sql.array([...texts], 'text');
}

type ApiKeyRow = Pick<
  StoredKey,
  'id' | 'requests_per_minute' | 'allowed_models' | 'expires_at' | 'revoked_at'
> &
  Readonly<{
    hash: Uint8Array;
    account_id: string;
    is_suspended: boolean;
    price_group: string | null;
    limit_version: number;
  }>;

/** In the order of the hashes; null for those that no key has. */
export async function findKeysByHash(sql: SQL, hashes: readonly Buffer[]): Promise<(ApiKey | null)[]> {
  const names = hashes.map((hash) => hash.toString('hex'));
  const rows = await sql<ApiKeyRow[]>`
    select hash, api_keys.id, account_id, allowed_models, expires_at, revoked_at, requests_per_minute,
           suspended_at is not null as is_suspended, price_group, limit_version
    from unnest(${sql.array(names, 'text')}::text[]) as asked (name)
      join api_keys on hash = decode(asked.name, 'hex')
      join accounts on accounts.id = account_id`;
  const found = new Map<string, ApiKey>(
    rows.map((row) => [
      Buffer.from(row.hash).toString('hex'),
      {
        id: row.id,
        accountId: row.account_id,
        allowedModels: row.allowed_models === null ? null : new Set(row.allowed_models),
        expiresAt: row.expires_at,
        revokedAt: row.revoked_at,
        isAccountSuspended: row.is_suspended,
        priceGroup: row.price_group,
        requestsPerMinute: row.requests_per_minute,
        limitVersion: row.limit_version,
      },
    ]),
  );
  return names.map((name) => found.get(name) ?? null);
}

/** Whether any key was ever imported. */
export async function hasImportedKeys(sql: SQL): Promise<boolean> {
  const [row] = await sql<[{ found: boolean }]>`select exists (select 1 from imported_keys) as found`;
  return row.found;
}
