/** The API keys of an account: create, read, list, update, replace, revoke. */
import type { SQL } from 'bun';
import { idIn } from '../console/access.ts';
import { parseBody } from '../json/problem.ts';
import {
  keyChangeOf,
  keyChangeSchema,
  keyDraftOf,
  keyDraftSchema,
  replacementOf,
  replacementSchema,
} from '../keys/key-body.ts';
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
  requireKey,
  revokeKeyAs,
} from '../keys/key-changes.ts';
import { accountOf } from './account.ts';
import { type Answer, type Call, changing, type Endpoints, nothing, reading } from './endpoint.ts';
import { etagOf, readPrecondition, requireMatch } from './etag.ts';
import { pageOf, pageParameters, readPage } from './page.ts';
import type { AdminServices } from './services.ts';

export function keyEndpoints(services: AdminServices): Endpoints {
  const { catalog } = services;
  const rules: KeyRules = {
    isInCatalog: (id) => catalog().catalog.models.has(id),
    maxInForce: maxKeysInForce,
  };
  return { ...allKeys(services, rules), ...oneKey(services, rules) };
}

function allKeys({ sql, deriveKey }: AdminServices, rules: KeyRules): Endpoints {
  const cursorKey = deriveKey('admin cursor');
  return {
    '/accounts/:account/keys': {
      GET: reading({
        scope: 'read',
        query: pageParameters,
        read: async (call) => {
          const accountId = await accountOf(sql, call);
          const page = readPage(call.query, ['keys', accountId], cursorKey);
          const rows = await findKeys(sql, accountId, page.before, page.limit + 1);
          return {
            body: pageOf(
              rows,
              page,
              (key) => presentKey(key, accountId),
              ({ id }) => id,
            ),
          };
        },
      }),
      POST: changing({
        scope: 'keys',
        parse: (body) => parseBody(keyDraftSchema, body),
        change: async (transaction, call) => {
          const accountId = await accountOf(transaction, call);
          const settings = keyDraftOf(call.body, new Date());
          const created = await addKeyAs(transaction, call.actor, accountId, settings, rules);
          return await showNewKey(transaction, accountId, created);
        },
      }),
    },
  };
}

function oneKey({ sql }: AdminServices, rules: KeyRules): Endpoints {
  return {
    '/accounts/:account/keys/:key': {
      GET: reading({
        scope: 'read',
        read: async (call) => await showKey(sql, await ownedKey(sql, call)),
      }),
      PATCH: changing({
        scope: 'keys',
        parse: (body) => parseBody(keyChangeSchema, body),
        change: async (transaction, call) => {
          const precondition = readPrecondition(call.headers);
          const owned = await ownedKey(transaction, call);
          const change = keyChangeOf(call.body, new Date());
          await changeKeyAs(transaction, call.actor, owned, change, rules, (current) =>
            requireMatch(precondition, keyTag(current)),
          );
          return await showKey(transaction, owned);
        },
      }),
    },
    '/accounts/:account/keys/:key/replace': {
      POST: changing({
        scope: 'keys',
        parse: (body) => parseBody(replacementSchema, body),
        change: async (transaction, call) => {
          const owned = await ownedKey(transaction, call);
          const revokeAt = replacementOf(call.body, new Date());
          const created = await replaceKeyAs(transaction, call.actor, owned, revokeAt, rules);
          return await showNewKey(transaction, owned.accountId, created);
        },
      }),
    },
    '/accounts/:account/keys/:key/revoke': {
      POST: changing({
        scope: 'keys',
        parse: nothing,
        change: async (transaction, call) => {
          const owned = await ownedKey(transaction, call);
          await revokeKeyAs(transaction, call.actor, owned);
          return await showKey(transaction, owned);
        },
      }),
    },
  };
}

async function ownedKey(sql: SQL, call: Pick<Call, 'params'>): Promise<OwnedKey> {
  const accountId = await accountOf(sql, call);
  return { accountId, id: idIn(call.params, 'key', 'key_not_found') };
}

async function showKey(sql: SQL, owned: OwnedKey): Promise<Answer> {
  const key = await requireKey(sql, owned);
  return { body: presentKey(key, owned.accountId), etag: keyTag(key) };
}

/** The only response that contains a secret. */
async function showNewKey(sql: SQL, accountId: string, { id, secret }: CreatedKey): Promise<Answer> {
  const key = await requireKey(sql, { id, accountId });
  return { status: 201, body: { ...presentKey(key, accountId), secret }, etag: keyTag(key) };
}

function keyTag(key: KeyOverview): string {
  const { name, requests_per_minute, max_concurrent, monthly_limit, allowed_models } = key;
  const { expires_at, revoked_at } = key;
  return etagOf({
    name,
    requests_per_minute,
    max_concurrent,
    monthly_limit,
    allowed_models,
    expires_at,
    revoked_at,
  });
}

async function findKeys(
  sql: SQL,
  accountId: string,
  before: string,
  rowCount: number,
): Promise<KeyOverview[]> {
  return await sql<KeyOverview[]>`
    select ${keyColumns(sql)} from key_overviews
    where account_id = ${accountId} and id < ${before}::uuid order by id desc limit ${rowCount}::int`;
}

function presentKey(key: KeyOverview, accountId: string) {
  return {
    object: 'api_key',
    id: key.id,
    account_id: accountId,
    name: key.name,
    hint: key.hint,
    state: key.state,
    requests_per_minute: key.requests_per_minute,
    max_concurrent: key.max_concurrent,
    monthly_limit: key.monthly_limit,
    allowed_models: key.allowed_models,
    expires_at: key.expires_at?.toISOString() ?? null,
    revoked_at: key.revoked_at?.toISOString() ?? null,
    created_at: key.created_at.toISOString(),
    last_used_at: key.last_used_at?.toISOString() ?? null,
    month_spent: key.month_spent,
    held: key.held,
  };
}
