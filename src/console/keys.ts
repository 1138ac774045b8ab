/** The keys of an account: members see them; owners create, change, replace and revoke them. */
import type { SQL } from 'bun';
import { z } from 'zod';
import { ApiError } from '../errors.ts';
import { lookUp } from '../http/lookup.ts';
import { readQuery } from '../http/query.ts';
import { listOf } from '../json/list.ts';
import { formatPath, type JsonPath } from '../json/path.ts';
import { parseBody } from '../json/problem.ts';
import {
  createKey,
  defaultMaxConcurrent,
  defaultRequestsPerMinute,
  type KeyChange,
  type KeySettings,
  maxConcurrentLimit,
  maxRequestsPerMinute,
  revokeKey,
  type StoredKey,
  settingsOf,
  updateKey,
} from '../keys/key-store.ts';
import { parseTime } from '../lib/calendar.ts';
import type { ActiveCatalog } from '../routing/active-catalog.ts';
import { asOwner, type Caller, type Found, idIn, rowsForMember } from './access.ts';
import type { Key, NewKey, Unsent } from './contract.ts';
import { amountFrom, bodyOf, converted, nothing, readBody, readSmallBody } from './fields.ts';
import type { AccountContext, AccountHandler, Routes } from './guard.ts';

type KeysServices = Readonly<{ sql: SQL; catalog: () => ActiveCatalog }>;

export function keysPage({ sql, catalog }: KeysServices): Routes<AccountHandler> {
  return {
    '/keys': {
      GET: async (request, { caller }) => {
        readQuery(request.url, []);
        const keys = await lookUp('api_keys_lookup_failed', () => findKeys(sql, caller));
        return Response.json({ data: keys satisfies Unsent<Key>[] });
      },
      POST: async (request, { caller }) => {
        readQuery(request.url, []);
        const settings = parseKeyDraft(await readSmallBody(request), new Date());
        const { models } = catalog().catalog;
        requireKnownModels(settings.allowedModels, (id) => models.has(id));
        return await asOwner(sql, caller, async (transaction) => {
          const response = await addKey(transaction, caller, settings);
          await requireRoom(transaction, caller);
          return response;
        });
      },
    },
    '/keys/:key': {
      PATCH: async (request, context) => {
        const { caller, keyId } = targetOf(context);
        readQuery(request.url, []);
        const { name, ...settings } = await readBody(request, changeSchema);
        const change = { name, ...settingsIn(settings, new Date()) };
        const { models } = catalog().catalog;
        return await asOwner(sql, caller, (transaction) =>
          changeKey(transaction, caller, keyId, change, (id) => models.has(id)),
        );
      },
    },
    '/keys/:key/replace': {
      POST: async (request, context) => {
        const { caller, keyId } = targetOf(context);
        readQuery(request.url, []);
        const { revoke_at: revokeAt } = await readBody(request, replacementSchema);
        requireOverlap(revokeAt);
        return await asOwner(sql, caller, (transaction) => replaceKey(transaction, caller, keyId, revokeAt));
      },
    },
    '/keys/:key/revoke': {
      POST: async (request, context) => {
        const { caller, keyId } = targetOf(context);
        readQuery(request.url, []);
        await readBody(request, nothing);
        return await asOwner(sql, caller, async (transaction) => {
          await lockKey(transaction, caller, keyId);
          await revokeKey(transaction, { id: keyId, accountId: caller.accountId });
          return Response.json((await findKey(transaction, caller, keyId)) satisfies Unsent<Key>);
        });
      },
    },
  };
}

function targetOf({ caller, params }: AccountContext): Readonly<{ caller: Caller; keyId: string }> {
  return { caller, keyId: idIn(params, 'key', 'key_not_found') };
}

/** The only response that contains a secret, which is not stored. */
async function addKey(transaction: SQL, caller: Caller, settings: KeySettings): Promise<Response> {
  const created = await createKey(transaction, { accountId: caller.accountId, ...settings });
  if (created === null) throw new ApiError('account_not_found');
  // Read in the same transaction, so that no secret is created for a key that cannot be shown.
  const key = await findKey(transaction, caller, created.id);
  return Response.json({ key, secret: created.key } satisfies Unsent<NewKey>);
}

async function changeKey(
  transaction: SQL,
  caller: Caller,
  keyId: string,
  change: KeyChange,
  isInCatalog: (modelId: string) => boolean,
): Promise<Response> {
  const key = await lockKey(transaction, caller, keyId);
  if (key.state === 'revoked') throw new ApiError('key_ended');
  // A model that has left the catalogue may remain on an allowlist, but cannot be added to one.
  const isKnown = (id: string) => isInCatalog(id) || key.allowed_models?.includes(id) === true;
  requireKnownModels(change.allowedModels ?? null, isKnown);
  await updateKey(transaction, { id: keyId, accountId: caller.accountId }, change);
  if (key.state === 'expired' && change.expiresAt !== undefined) await requireRoom(transaction, caller);
  return Response.json((await findKey(transaction, caller, keyId)) satisfies Unsent<Key>);
}

async function replaceKey(
  transaction: SQL,
  caller: Caller,
  keyId: string,
  revokeAt: Date | null,
): Promise<Response> {
  const key = await lockKey(transaction, caller, keyId);
  if (key.state !== 'active') throw new ApiError('key_ended');
  await transaction`
    update api_keys set revoked_at = coalesce(${revokeAt}::timestamptz, now())
    where id = ${keyId} and account_id = ${caller.accountId}`;
  const response = await addKey(transaction, caller, settingsOf(key));
  // For a while there is one key more than before.
  if (revokeAt !== null) await requireRoom(transaction, caller);
  return response;
}

const nameWords = 'a name of 1 to 200 characters without control characters';
const rateWords = `a whole number from 1 to ${maxRequestsPerMinute}`;
const concurrencyWords = `a whole number from 1 to ${maxConcurrentLimit}`;
const modelWords = 'the ID of a model';
const maxModels = 200;

const name = z
  .string(nameWords)
  .trim()
  .regex(/^\P{Cc}{1,200}$/u, nameWords);
const models = listOf(
  z.string(modelWords).min(1, modelWords),
  `a list of 1 to ${maxModels} model IDs, or null for every model`,
  { min: 1, max: maxModels },
);
const time = converted('a time such as "2027-01-31T12:00:00Z", or null', parseTime).nullable();

const settingsShape = {
  requests_per_minute: z.int(rateWords).min(1, rateWords).max(maxRequestsPerMinute, rateWords).optional(),
  max_concurrent: z
    .int(concurrencyWords)
    .min(1, concurrencyWords)
    .max(maxConcurrentLimit, concurrencyWords)
    .optional(),
  monthly_limit: amountFrom(0n, ', or null').nullable().optional(),
  allowed_models: z.optional(z.nullable(models)),
  expires_at: time.optional(),
};
const draftSchema = bodyOf({ name, ...settingsShape });
const changeSchema = bodyOf({ name: name.optional(), ...settingsShape });
const replacementSchema = bodyOf({ revoke_at: time });

type WireSettings = Omit<z.output<typeof draftSchema>, 'name'>;

export function parseKeyDraft(body: unknown, now: Date): KeySettings {
  const { name: chosen, ...wire } = parseBody(draftSchema, body);
  const settings = settingsIn(wire, now);
  return {
    name: chosen,
    requestsPerMinute: settings.requestsPerMinute ?? defaultRequestsPerMinute,
    maxConcurrent: settings.maxConcurrent ?? defaultMaxConcurrent,
    monthlyLimit: settings.monthlyLimit ?? null,
    allowedModels: settings.allowedModels ?? null,
    expiresAt: settings.expiresAt ?? null,
  };
}

/** Null removes a limit; undefined leaves it as it is. */
function settingsIn(wire: WireSettings, now: Date) {
  const { allowed_models: allowedModels, expires_at: expiresAt } = wire;
  const repeated = allowedModels?.findIndex((model, index) => allowedModels.indexOf(model) !== index) ?? -1;
  if (repeated >= 0) throw invalid(['allowed_models', repeated], 'This model is already on the list.');
  if (expiresAt && expiresAt <= now)
    throw invalid(['expires_at'], 'A key can only expire in the future. To end it now, revoke it.');
  return {
    requestsPerMinute: wire.requests_per_minute,
    maxConcurrent: wire.max_concurrent,
    monthlyLimit: wire.monthly_limit,
    allowedModels,
    expiresAt,
  };
}

const maxOverlapMs = 30 * 24 * 60 * 60 * 1000;

function requireOverlap(revokeAt: Date | null): void {
  if (revokeAt === null) return;
  const aheadMs = revokeAt.getTime() - Date.now();
  if (aheadMs < 0) throw invalid(['revoke_at'], 'The old key cannot end in the past. Null ends it now.');
  if (aheadMs > maxOverlapMs)
    throw invalid(['revoke_at'], 'The old key must end within 30 days. Replace it later instead.');
}

/** A misspelt ID would allow nothing, and be noticed only when a request is rejected. */
function requireKnownModels(ids: readonly string[] | null, isKnown: (id: string) => boolean): void {
  const place = ids?.findIndex((id) => !isKnown(id)) ?? -1;
  if (place >= 0) throw invalid(['allowed_models', place], 'The catalogue has no model with this ID.');
}

function invalid(path: JsonPath, message: string): ApiError {
  return new ApiError('invalid_parameter', { param: formatPath(path), message });
}

/** Operators can exceed it with the command line. */
const maxInForce = 1_000;
/** How many revoked or expired keys a list contains. */
const maxEnded = 200;

type KeyRow = StoredKey &
  Pick<Key, 'state' | 'month_spent' | 'held'> &
  Readonly<{ last_used_at: Date | null }>;

/** The newest first: all that are in force, and the newest of the others. With an ID, only that key. */
async function findKeys(
  sql: SQL,
  { userId, accountId }: Caller,
  keyId: string | null = null,
): Promise<KeyRow[]> {
  const rows = await sql<Found<KeyRow, 'id'>[]>`
    select keys.id, name, hint, state, requests_per_minute, max_concurrent, monthly_limit, allowed_models, expires_at,
           revoked_at, keys.created_at, last_used_at, held,
           -- A key that was not used this month still has the sum of the month in which it last was.
           case when month = date_trunc('month', now() at time zone 'UTC') then month_spent else 0::numeric(38,12) end as month_spent
    from memberships
    left join lateral (
      select *, row_number() over (partition by state in ('revoked', 'expired') order by id desc) as place
      from (
        -- In the order in which the gateway rejects a key: a revoked key must not look as if it had expired.
        select *, case when revoked_at <= now() then 'revoked' when expires_at <= now() then 'expired'
                       when revoked_at is null then 'active' else 'replaced' end as state
        from api_keys
        where account_id = memberships.account_id and (${keyId}::uuid is null or id = ${keyId}::uuid)
      ) as of_account
    ) as keys on place <= ${maxEnded} or state in ('active', 'replaced')
    left join api_key_meters on key_id = keys.id
    where user_id = ${userId} and memberships.account_id = ${accountId}
    order by keys.id desc`;
  return rowsForMember(rows, 'id');
}

async function findKey(sql: SQL, caller: Caller, keyId: string): Promise<KeyRow> {
  const [key] = await findKeys(sql, caller, keyId);
  if (key === undefined) throw new ApiError('key_not_found');
  return key;
}

/** Locks the key before it is read, so that what is decided about it still holds when it is written. */
async function lockKey(transaction: SQL, caller: Caller, keyId: string): Promise<KeyRow> {
  await transaction`
    select 1 from api_keys where id = ${keyId} and account_id = ${caller.accountId} for no key update`;
  return await findKey(transaction, caller, keyId);
}

async function requireRoom(transaction: SQL, { accountId }: Caller): Promise<void> {
  const [row] = await transaction<[{ in_force: number }]>`
    select count(*)::int as in_force from api_keys
    where account_id = ${accountId} and coalesce(revoked_at > now(), true) and coalesce(expires_at > now(), true)`;
  if (row.in_force > maxInForce) throw new ApiError('too_many_keys');
}
