/** Webhooks, of accounts and of the operator: create, read, list, update, remove; their deliveries, tests and replays. */
import type { SQL, TransactionSQL } from 'bun';
import type { TokenActor } from '../audit-log/audit-log.ts';
import { idIn, operatorOnly } from '../console/access.ts';
import { ApiError } from '../errors.ts';
import { eventIdFromUuid } from '../events/event.ts';
import { invalidQuery } from '../http/query.ts';
import { bodyOf, uuid } from '../json/fields.ts';
import { parseBody } from '../json/problem.ts';
import { isUuid } from '../lib/ids.ts';
import { type Delivery, findDeliveries } from '../webhooks/delivery-store.ts';
import {
  draftFields,
  endpointChangeOf,
  endpointChangeSchema,
  endpointDraftOf,
  replayOf,
  replaySchema,
} from '../webhooks/endpoint-body.ts';
import {
  changeEndpointAs,
  createEndpointAs,
  type Endpoint,
  type EndpointOwner,
  endpointColumns,
  type OwnedEndpoint,
  removeEndpointAs,
  requireEndpoint,
  rotateSecretAs,
  sendTest,
} from '../webhooks/endpoint-store.ts';
import { presentDelivery, presentEndpoint } from '../webhooks/present.ts';
import { replay } from '../webhooks/replay.ts';
import { type Answer, type Call, changing, type Endpoints, nothing, reading } from './endpoint.ts';
import { etagOf, readPrecondition, requireMatch } from './etag.ts';
import { pageOf, pageParameters, readPage } from './page.ts';
import type { AdminServices } from './services.ts';

export const webhookDraftSchema = bodyOf({
  ...draftFields,
  account_id: uuid('the ID of an account, or null for a webhook of the operator').nullable(),
});

export function webhookEndpoints(services: AdminServices): Endpoints {
  return { ...allWebhooks(services), ...oneWebhook(services), ...deliveriesOf(services) };
}

function allWebhooks({ sql, deriveKey }: AdminServices): Endpoints {
  const cursorKey = deriveKey('admin cursor');
  const encryptionKey = deriveKey('webhook secrets');
  return {
    '/webhooks': {
      GET: reading({
        scope: 'read',
        query: [...pageParameters, 'account'],
        read: async ({ query }) => {
          const accountId = query.get('account');
          if (accountId !== null && !isUuid(accountId)) throw invalidQuery('account', 'the ID of an account');
          const page = readPage(query, ['webhooks', accountId], cursorKey);
          const rows = await sql<Endpoint[]>`
            select ${endpointColumns(sql)} from webhook_endpoints
            where (${accountId}::uuid is null or account_id = ${accountId}::uuid) and id < ${page.before}::uuid
            order by id desc limit ${page.limit + 1}::int`;
          return { body: pageOf(rows, page, presentWebhook, ({ id }) => id) };
        },
      }),
      POST: changing({
        scope: 'accounts',
        parse: (body) => parseBody(webhookDraftSchema, body),
        change: async (transaction, { actor, body }) => {
          const owner = { accountId: body.account_id };
          const draft = endpointDraftOf(body, owner);
          if (owner.accountId !== null) await requireAccount(transaction, owner.accountId);
          await requireReader(transaction, actor, owner);
          const { id, secret } = await createEndpointAs(transaction, actor, owner, draft, encryptionKey);
          const created = await showWebhook(transaction, { ...owner, id });
          return { ...created, status: 201, body: { ...(created.body as object), secret } };
        },
      }),
    },
  };
}

function oneWebhook({ sql, deriveKey }: AdminServices): Endpoints {
  const encryptionKey = deriveKey('webhook secrets');
  return {
    '/webhooks/:webhook': {
      GET: reading({ scope: 'read', read: async (call) => await showWebhook(sql, await ownedBy(sql, call)) }),
      PATCH: changing({
        scope: 'accounts',
        parse: (body) => parseBody(endpointChangeSchema, body),
        change: async (transaction, call) => {
          const precondition = readPrecondition(call.headers);
          const owned = await changedBy(transaction, call);
          const change = endpointChangeOf(call.body, owned);
          await changeEndpointAs(transaction, call.actor, owned, change, (current) =>
            requireMatch(precondition, webhookTag(current)),
          );
          return await showWebhook(transaction, owned);
        },
      }),
      DELETE: changing({
        scope: 'accounts',
        parse: nothing,
        change: async (transaction, call) => {
          const owned = await changedBy(transaction, call);
          await removeEndpointAs(transaction, call.actor, owned);
          return { body: { object: 'webhook', id: owned.id, deleted: true } };
        },
      }),
    },
    '/webhooks/:webhook/rotate-secret': {
      POST: changing({
        scope: 'accounts',
        parse: nothing,
        change: async (transaction, call) => {
          const owned = await changedBy(transaction, call);
          const secret = await rotateSecretAs(transaction, call.actor, owned, encryptionKey);
          const shown = await showWebhook(transaction, owned);
          return { ...shown, body: { ...(shown.body as object), secret } };
        },
      }),
    },
  };
}

function deliveriesOf({ sql, deriveKey }: AdminServices): Endpoints {
  const cursorKey = deriveKey('admin cursor');
  return {
    '/webhooks/:webhook/deliveries': {
      GET: reading({
        scope: 'read',
        query: pageParameters,
        read: async (call) => {
          const owned = await ownedBy(sql, call);
          const page = readPage(call.query, ['deliveries', owned.id], cursorKey);
          const rows = await findDeliveries(sql, owned, page.before, page.limit + 1);
          return { body: pageOf(rows, page, presentOwnDelivery, ({ id }) => id) };
        },
      }),
    },
    '/webhooks/:webhook/test': {
      POST: changing({
        scope: 'accounts',
        parse: nothing,
        change: async (transaction, call) => {
          const eventId = await sendTest(transaction, await changedBy(transaction, call));
          return { body: { object: 'webhook_test', event_id: eventIdFromUuid(eventId) } };
        },
      }),
    },
    '/webhooks/:webhook/replay': {
      POST: changing({
        scope: 'accounts',
        parse: (body) => parseBody(replaySchema, body),
        change: async (transaction, call) => {
          const what = replayOf(call.body);
          const count = await replay(transaction, await changedBy(transaction, call), what);
          return { body: { object: 'webhook_replay', deliveries: count } };
        },
      }),
    },
  };
}

async function requireAccount(sql: SQL, id: string): Promise<void> {
  const found = await sql`select 1 from accounts where id = ${id}`;
  if (found.length === 0)
    throw new ApiError('account_not_found', { param: 'account_id', message: 'There is no such account.' });
}

/** Tokens are the operator's, who may have any of them. */
async function ownedBy(sql: SQL, { params }: Pick<Call, 'params'>): Promise<OwnedEndpoint> {
  const id = idIn(params, 'webhook', 'webhook_not_found');
  const [row] = await sql<{ account_id: string | null }[]>`
    select account_id from webhook_endpoints where id = ${id}`;
  if (row === undefined) throw new ApiError('webhook_not_found');
  return { id, accountId: row.account_id };
}

async function changedBy(transaction: TransactionSQL, call: Call): Promise<OwnedEndpoint> {
  const owned = await ownedBy(transaction, call);
  await requireReader(transaction, call.actor, owned);
  return owned;
}

/** What the operator's webhooks get are the events of all accounts: who has them sent somewhere can read them. */
async function requireReader(
  transaction: TransactionSQL,
  { tokenId }: TokenActor,
  { accountId }: EndpointOwner,
): Promise<void> {
  if (accountId !== null) return;
  const found = await transaction`${operatorOnly(transaction, { tokenId })}`;
  if (found.length === 0)
    throw new ApiError('insufficient_scope', {
      message:
        'A webhook of the operator gets the events of all accounts, so this needs the scope read, too.',
    });
}

async function showWebhook(sql: SQL, owned: OwnedEndpoint): Promise<Answer> {
  const endpoint = await requireEndpoint(sql, owned);
  return { body: presentWebhook(endpoint), etag: webhookTag(endpoint) };
}

function webhookTag({ url, description, types, disabled_at: disabledAt }: Endpoint): string {
  return etagOf({ url, description, types, is_enabled: disabledAt === null });
}

function presentWebhook(endpoint: Endpoint) {
  return { object: 'webhook', account_id: endpoint.account_id, ...presentEndpoint(endpoint) };
}

function presentOwnDelivery(delivery: Delivery) {
  return { object: 'webhook_delivery', ...presentDelivery(delivery) };
}
