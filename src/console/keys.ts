/** The keys of an account: members and operators see them; owners create, change, replace and revoke them. */
import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import { typicalHoldOfKey } from '../generations/typical-hold.ts';
import { lookUp } from '../http/lookup.ts';
import { readQuery } from '../http/query.ts';
import { nothing, readBody, readSmallBody } from '../json/fields.ts';
import { parseKeyChange, parseKeyDraft, parseReplacement } from '../keys/key-body.ts';
import {
  addKeyAs,
  type CreatedKey,
  changeKeyAs,
  type KeyOverview,
  type KeyRules,
  keyColumns,
  maxKeysInForce,
  type OwnedKey,
  replaceKeyAs,
  revokeKeyAs,
} from '../keys/key-changes.ts';
import { rateAt } from '../lib/rate-limit.ts';
import type { ActiveCatalog } from '../routing/active-catalog.ts';
import { asOwner, type Caller, type Found, idIn, readableAccount, rowsForReader } from './access.ts';
import { boundedRead } from './bounded-read.ts';
import type { Key, Keys, NewKey, Unsent } from './contract.ts';
import type { AccountContext, AccountHandler, Routes } from './guard.ts';
import type { KeyDetail } from './key-contract.ts';

type KeysServices = Readonly<{ sql: SQL; catalog: () => ActiveCatalog }>;

export function keysPage({ sql, catalog }: KeysServices): Routes<AccountHandler> {
  const rules: KeyRules = {
    isInCatalog: (id) => catalog().catalog.models.has(id),
    maxInForce: maxKeysInForce,
  };
  return {
    '/keys': {
      GET: async (request, { caller }) => {
        readQuery(request.url, []);
        const data = await lookUp('api_keys_lookup_failed', () =>
          boundedRead(sql, (read) => findKeys(read, caller)),
        );
        const limited = await lookUp('api_keys_lookup_failed', () =>
          boundedRead(sql, (read) => countLimits(read, caller)),
        );
        return Response.json({ data, limited } satisfies Unsent<Keys>);
      },
      POST: async (request, { caller, actor }) => {
        readQuery(request.url, []);
        const settings = parseKeyDraft(await readSmallBody(request), new Date());
        return await asOwner(sql, caller, async (transaction) => {
          const { accountId } = caller;
          const created = await addKeyAs(transaction, actor, accountId, settings, rules);
          return await showNewKey(transaction, accountId, created);
        });
      },
    },
    '/keys/:key': {
      GET: async (request, context) => {
        const owned = ownedKey(context);
        readQuery(request.url, []);
        const key = await lookUp('api_keys_lookup_failed', () =>
          boundedRead(sql, (read) => findKey(read, context.caller, owned)),
        );
        return Response.json(key satisfies Unsent<KeyDetail>);
      },
      PATCH: async (request, context) => {
        const owned = ownedKey(context);
        readQuery(request.url, []);
        const change = parseKeyChange(await readSmallBody(request), new Date());
        return await asOwner(sql, context.caller, async (transaction) => {
          await changeKeyAs(transaction, context.actor, owned, change, rules);
          return await showKey(transaction, owned);
        });
      },
    },
    '/keys/:key/replace': {
      POST: async (request, context) => {
        const owned = ownedKey(context);
        readQuery(request.url, []);
        const revokeAt = parseReplacement(await readSmallBody(request), new Date());
        return await asOwner(sql, context.caller, async (transaction) => {
          const created = await replaceKeyAs(transaction, context.actor, owned, revokeAt, rules);
          return await showNewKey(transaction, owned.accountId, created);
        });
      },
    },
    '/keys/:key/revoke': {
      POST: async (request, context) => {
        const owned = ownedKey(context);
        readQuery(request.url, []);
        await readBody(request, nothing);
        return await asOwner(sql, context.caller, async (transaction) => {
          await revokeKeyAs(transaction, context.actor, owned);
          return await showKey(transaction, owned);
        });
      },
    },
  };
}

function ownedKey({ caller, params }: AccountContext): OwnedKey {
  return { accountId: caller.accountId, id: idIn(params, 'key', 'key_not_found') };
}

async function showKey(transaction: SQL, owned: OwnedKey): Promise<Response> {
  return Response.json((await requireListedKey(transaction, owned)) satisfies Unsent<Key>);
}

/** The only response that contains a secret. Read in the same transaction, so that there is none for a key that cannot be shown. */
async function showNewKey(
  transaction: SQL,
  accountId: string,
  { id, secret }: CreatedKey,
): Promise<Response> {
  const key = await requireListedKey(transaction, { id, accountId });
  return Response.json({ key, secret } satisfies Unsent<NewKey>);
}

/** A key as the dashboard shows it, with what its monthly limit still allows. */
type ListedKey = KeyOverview & Readonly<{ month_left: string | null; typical_hold: string | null }>;

/** Of `key_overviews`. Only a key in force with a monthly limit needs its requests looked at. */
function shownColumns(sql: SQL) {
  const isLimited = sql`monthly_limit is not null and state in ('active', 'replaced')`;
  return sql`${keyColumns(sql)},
    case when ${isLimited} then greatest(monthly_limit - month_spent - held, 0) end as month_left,
    case when ${isLimited} then ${typicalHoldOfKey(sql, sql`key_overviews.id`)} end as typical_hold`;
}

async function requireListedKey(sql: SQL, owned: OwnedKey): Promise<ListedKey> {
  const [key] = await sql<ListedKey[]>`
    select ${shownColumns(sql)} from key_overviews where id = ${owned.id} and account_id = ${owned.accountId}`;
  if (key === undefined) throw new ApiError('key_not_found');
  return key;
}

type MeteredKey = ListedKey & Readonly<{ open_count: number; arrival_ms: number; now_ms: number }>;

/** With how much of its rate and of its requests at once is in use at this moment. */
async function findKey(sql: SQL, caller: Caller, { id }: OwnedKey): Promise<Unsent<KeyDetail>> {
  const rows = await sql<Found<MeteredKey, 'id'>[]>`
    select keys.*, coalesce(open_count, 0) as open_count,
           coalesce(extract(epoch from theoretical_arrival_at)::float8 * 1000, 0) as arrival_ms,
           extract(epoch from now())::float8 * 1000 as now_ms
    from ${readableAccount(sql, caller)} as readable
    left join lateral (
      select ${shownColumns(sql)} from key_overviews where id = ${id} and account_id = readable.account_id
    ) as keys on true
    left join api_key_meters on key_id = keys.id`;
  const [found] = rowsForReader(rows, 'id');
  if (found === undefined) throw new ApiError('key_not_found');
  const { open_count: open, arrival_ms: arrivalMs, now_ms: nowMs, ...key } = found;
  const { limit, remaining } = rateAt(key.requests_per_minute, arrivalMs, nowMs);
  return { ...key, now: { rate_used: limit - remaining, open } };
}

/** How many revoked or expired keys a list contains. */
const maxEnded = 200;

/** The newest first: all that are in force, and the newest of the others. */
async function findKeys(sql: SQL, caller: Caller): Promise<ListedKey[]> {
  const rows = await sql<Found<ListedKey, 'id'>[]>`
    select keys.* from ${readableAccount(sql, caller)} as readable
    left join lateral (
      select ${shownColumns(sql)} from (
        select *, row_number() over (partition by state in ('revoked', 'expired') order by id desc) as place
        from key_overviews where account_id = readable.account_id
      ) as key_overviews
      where place <= ${maxEnded} or state in ('active', 'replaced')
    ) as keys on true
    order by keys.id desc`;
  return rowsForReader(rows, 'id');
}

async function countLimits(sql: SQL, caller: Caller): Promise<Keys['limited']> {
  return await sql<Keys['limited']>`
    select key_id, count(*)::int as limits from ${readableAccount(sql, caller)} as readable join limits using (account_id)
    where key_id is not null
    group by key_id`;
}
