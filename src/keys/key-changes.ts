/** What owners and operators do to keys, through whichever door. Each change is recorded in its own transaction. */
import type { SQL, TransactionSQL } from 'bun';
import { type Actor, differenceOf, type Fields, recordChange } from '../audit-log/audit-log.ts';
import { ApiError } from '../errors.ts';
import { copyLimitsOfKey } from '../limits/limit-store.ts';
import { requireKnownModels } from './key-body.ts';
import {
  createKey,
  type HashedKey,
  insertHashedKey,
  type KeyChange,
  type KeySettings,
  revokeKey,
  type StoredKey,
  settingsOf,
  updateKey,
} from './key-store.ts';

/** A key as lists show it. */
export type KeyOverview = StoredKey &
  Readonly<{
    state: 'active' | 'replaced' | 'revoked' | 'expired';
    /** Charged in the calendar month (UTC). */
    month_spent: string;
    held: string;
    last_used_at: Date | null;
  }>;

export type OwnedKey = Readonly<{ id: string; accountId: string }>;

/** The secret is not stored and cannot be shown again. */
export type CreatedKey = Readonly<{ id: string; secret: string }>;

/** What a key may be set to. */
export type KeyRules = Readonly<{
  /** A misspelt model would allow nothing, and be noticed only when a request is rejected. */
  isInCatalog: (modelId: string) => boolean;
  /** How many keys of an account may be in force. */
  maxInForce: number;
}>;

export const maxKeysInForce = 1_000;

export async function addKeyAs(
  transaction: TransactionSQL,
  actor: Actor,
  accountId: string,
  settings: KeySettings,
  rules: KeyRules,
): Promise<CreatedKey> {
  requireKnownModels(settings.allowedModels, rules.isInCatalog);
  const created = await insertKey(transaction, accountId, settings);
  await requireRoom(transaction, accountId, rules);
  await recordChange(transaction, actor, {
    action: 'create_key',
    accountId,
    object: { type: 'key', id: created.id },
    after: describeKey(await requireKey(transaction, { id: created.id, accountId })),
  });
  return created;
}

/** A key of another gateway. Its secret is known to the customer only. */
export type ImportedKey = HashedKey &
  Readonly<{
    source: 'litellm' | 'new-api';
    /** Now, for a key that must stay without effect; later, for one that was replaced; null for a valid one. */
    revokedAt: Date | null;
  }>;

/** Null when the hash is known already. The models were checked before, and the number of keys is not limited. */
export async function importKeyAs(
  transaction: TransactionSQL,
  actor: Actor,
  accountId: string,
  settings: KeySettings,
  { source, revokedAt, ...hashed }: ImportedKey,
): Promise<string | null> {
  // One after the other: of two imports of the same key, the second finds it here.
  await transaction`select pg_advisory_xact_lock(hashtextextended(${`import ${hashed.hash.toString('hex')}`}, 0))`;
  if ((await transaction`select 1 from api_keys where hash = ${hashed.hash}`).length > 0) return null;
  const id = await insertHashedKey(transaction, { accountId, ...settings }, hashed);
  if (id === null) throw new ApiError('account_not_found');
  await transaction`insert into imported_keys (key_id, source) values (${id}, ${source})`;
  if (revokedAt !== null) await transaction`update api_keys set revoked_at = ${revokedAt} where id = ${id}`;
  const key = await requireKey(transaction, { id, accountId });
  const object = { type: 'key', id } as const;
  const after = { ...describeKey(key), imported_from: source };
  await recordChange(transaction, actor, {
    action: 'create_key',
    accountId,
    object,
    after: revokedAt === null ? after : { ...after, revoked_at: key.revoked_at },
  });
  return id;
}

/** `check` sees what is about to be changed, and may throw. */
export async function changeKeyAs(
  transaction: TransactionSQL,
  actor: Actor,
  owned: OwnedKey,
  change: KeyChange,
  rules: KeyRules,
  check: (current: KeyOverview) => void = () => undefined,
): Promise<void> {
  const { accountId } = owned;
  const key = await lockKey(transaction, owned);
  check(key);
  if (key.state === 'revoked') throw new ApiError('key_ended');
  // A model that has left the catalogue may remain on an allowlist, but cannot be added to one.
  const isKnown = (id: string) => rules.isInCatalog(id) || key.allowed_models?.includes(id) === true;
  requireKnownModels(change.allowedModels ?? null, isKnown);
  await updateKey(transaction, owned, change);
  if (key.state === 'expired' && change.expiresAt !== undefined)
    await requireRoom(transaction, accountId, rules);
  const difference = differenceOf(describeKey(key), describeKey(await requireKey(transaction, owned)));
  if (Object.keys(difference.after).length === 0) return;
  const object = { type: 'key', id: owned.id } as const;
  await recordChange(transaction, actor, { action: 'update_key', accountId, object, ...difference });
}

/** The new key has the settings of the old one, which is valid until `revokeAt`; null ends it now. */
export async function replaceKeyAs(
  transaction: TransactionSQL,
  actor: Actor,
  owned: OwnedKey,
  revokeAt: Date | null,
  rules: Pick<KeyRules, 'maxInForce'>,
): Promise<CreatedKey> {
  const { id, accountId } = owned;
  const key = await lockKey(transaction, owned);
  if (key.state !== 'active') throw new ApiError('key_ended');
  const [old] = await transaction<[{ revoked_at: Date }]>`
    update api_keys set revoked_at = coalesce(${revokeAt}::timestamptz, now())
    where id = ${id} and account_id = ${accountId} returning revoked_at`;
  const created = await insertKey(transaction, accountId, settingsOf(key));
  await copyLimitsOfKey(transaction, actor, accountId, { from: id, to: created.id });
  // For a while there is one key more than before.
  if (revokeAt !== null) await requireRoom(transaction, accountId, rules);
  await recordChange(transaction, actor, {
    action: 'replace_key',
    accountId,
    object: { type: 'key', id },
    before: { revoked_at: null },
    after: { revoked_at: old.revoked_at, replaced_by: created.id },
  });
  return created;
}

/** Ends a key at once. False when it had ended before. */
export async function revokeKeyAs(
  transaction: TransactionSQL,
  actor: Actor,
  owned: OwnedKey,
): Promise<boolean> {
  const { id, accountId } = owned;
  const key = await lockKey(transaction, owned);
  if (!(await revokeKey(transaction, owned))) return false;
  const { revoked_at: revokedAt } = await requireKey(transaction, owned);
  await recordChange(transaction, actor, {
    action: 'revoke_key',
    accountId,
    object: { type: 'key', id },
    before: { revoked_at: key.revoked_at },
    after: { revoked_at: revokedAt },
  });
  return true;
}

async function insertKey(
  transaction: TransactionSQL,
  accountId: string,
  settings: KeySettings,
): Promise<CreatedKey> {
  const created = await createKey(transaction, { accountId, ...settings });
  if (created === null) throw new ApiError('account_not_found');
  return { id: created.id, secret: created.key };
}

/** Locks the key before it is read, so that what is decided about it still holds when it is written. */
async function lockKey(transaction: TransactionSQL, owned: OwnedKey): Promise<KeyOverview> {
  await transaction`
    select 1 from api_keys where id = ${owned.id} and account_id = ${owned.accountId} for no key update`;
  return await requireKey(transaction, owned);
}

export async function requireKey(sql: SQL, { id, accountId }: OwnedKey): Promise<KeyOverview> {
  const [key] = await sql<KeyOverview[]>`
    select ${keyColumns(sql)} from key_overviews where id = ${id} and account_id = ${accountId}`;
  if (key === undefined) throw new ApiError('key_not_found');
  return key;
}

/** The account of a key; null when there is no such key. For the operator, who need not name it. */
export async function accountOfKey(sql: SQL, id: string): Promise<string | null> {
  const [row] = await sql<{ account_id: string }[]>`select account_id from api_keys where id = ${id}`;
  return row?.account_id ?? null;
}

/** Of `key_overviews`. */
export function keyColumns(sql: SQL) {
  return sql`id, name, hint, state, requests_per_minute, max_concurrent, monthly_limit, allowed_models, expires_at, revoked_at,
    created_at, last_used_at, held, month_spent`;
}

/** One after the other, so that each counts what the others have added. Operators do not lock the members, as owners do. */
async function requireRoom(
  transaction: TransactionSQL,
  accountId: string,
  { maxInForce }: Pick<KeyRules, 'maxInForce'>,
): Promise<void> {
  await transaction`select pg_advisory_xact_lock(hashtextextended(${`keys of ${accountId}`}, 0))`;
  const [row] = await transaction<[{ in_force: number }]>`
    select count(*)::int as in_force from api_keys
    where account_id = ${accountId} and coalesce(revoked_at > now(), true) and coalesce(expires_at > now(), true)`;
  if (row.in_force > maxInForce) throw new ApiError('too_many_keys');
}

/** What the log says of a key. */
function describeKey(key: StoredKey): Fields {
  const { name, requests_per_minute, max_concurrent, monthly_limit, allowed_models, expires_at } = key;
  return { name, requests_per_minute, max_concurrent, monthly_limit, allowed_models, expires_at };
}
