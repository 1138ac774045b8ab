/** Webhooks: where owners and operators have events sent, what became of that, and below which balance an account is warned. */
import type { SQL, TransactionSQL } from 'bun';
import { updateAccountAs } from '../accounts/changes.ts';
import { ApiError } from '../errors.ts';
import { accountEventTypes, eventIdFromUuid, operatorEventTypes } from '../events/event.ts';
import { presentPage } from '../http/present-page.ts';
import { parseLimit, readQuery } from '../http/query.ts';
import { amountFrom, bodyOf, nothing, readBody } from '../json/fields.ts';
import type { DerivedKeys } from '../lib/derived-keys.ts';
import { shortTransaction } from '../lib/short-transaction.ts';
import { findDeliveries } from '../webhooks/delivery-store.ts';
import {
  endpointChangeOf,
  endpointChangeSchema,
  endpointDraftOf,
  endpointDraftSchema,
  replayOf,
  replaySchema,
} from '../webhooks/endpoint-body.ts';
import {
  changeEndpointAs,
  createEndpointAs,
  type EndpointOwner,
  findEndpoints,
  maxEndpointsOf,
  type OwnedEndpoint,
  removeEndpointAs,
  requireEndpoint,
  rotateSecretAs,
  sendTest,
} from '../webhooks/endpoint-store.ts';
import { presentDelivery, presentEndpoint } from '../webhooks/present.ts';
import { replay } from '../webhooks/replay.ts';
import {
  asOperator,
  asOwner,
  findStanding,
  idIn,
  keepSession,
  readableAccount,
  requireOwningReader,
} from './access.ts';
import type { Page, Unsent } from './contract.ts';
import type {
  Alerts,
  NewWebhook,
  Webhook,
  WebhookDelivery,
  WebhookPage,
  WebhookReplay,
  WebhookTest,
} from './event-contract.ts';
import type { AccountHandler, ConsoleContext, ConsoleHandler, Routes } from './guard.ts';
import { parseCursor } from './operator/list.ts';

type WebhookServices = Readonly<{ sql: SQL; deriveKey: DerivedKeys }>;

/** Who the endpoints belong to, and how that is checked: within the transaction of each query and change. */
type Access<Context> = Readonly<{
  ownerOf: (context: Context) => EndpointOwner;
  reading: <Result>(context: Context, read: (sql: TransactionSQL) => Promise<Result>) => Promise<Result>;
  changing: <Result>(context: Context, write: (sql: TransactionSQL) => Promise<Result>) => Promise<Result>;
}>;
type Handler<Context> = (request: Request, context: Context) => Promise<Response>;

const defaultLimit = 20;

export function accountWebhooksPage(services: WebhookServices): Routes<AccountHandler> {
  const { sql } = services;
  return {
    ...webhookRoutes<Parameters<AccountHandler>[1]>(services, {
      ownerOf: ({ caller }) => ({ accountId: caller.accountId }),
      reading: ({ caller }, read) =>
        shortTransaction(sql, async (transaction) => {
          requireOwningReader(await findStanding(transaction, caller));
          return await read(transaction);
        }),
      changing: ({ caller }, write) => asOwner(sql, caller, write),
    }),
    '/alerts': {
      GET: async (request, { caller }) => {
        readQuery(request.url, []);
        const [row] = await sql<{ low_balance: string | null }[]>`
          select low_balance from ${readableAccount(sql, caller)} as readable
          left join account_details on account_details.account_id = readable.account_id`;
        if (row === undefined) throw new ApiError('account_not_found');
        return Response.json(row satisfies Unsent<Alerts>);
      },
      PATCH: async (request, { caller, actor }) => {
        readQuery(request.url, []);
        const { low_balance: lowBalance } = await readBody(request, alertsBody);
        return await asOwner(sql, caller, async (transaction) => {
          await updateAccountAs(transaction, actor, caller.accountId, { lowBalance });
          const alerts = { low_balance: await findLowBalance(transaction, caller) };
          return Response.json(alerts satisfies Unsent<Alerts>);
        });
      },
    },
  };
}

export function operatorWebhooksPage(services: WebhookServices): Routes<ConsoleHandler> {
  const { sql } = services;
  return webhookRoutes<ConsoleContext>(services, {
    ownerOf: () => ({ accountId: null }),
    reading: (context, read) => asOperator(sql, context, read),
    changing: (context, write) => asOperator(sql, context, write),
  });
}

const alertsBody = bodyOf({ low_balance: amountFrom(0n, ', or null').nullable() });

function webhookRoutes<Context extends ConsoleContext>(
  services: WebhookServices,
  access: Access<Context>,
): Routes<Handler<Context>> {
  return {
    ...listRoutes(services, access),
    ...oneRoutes(services, access),
    ...deliveryRoutes(access),
  };
}

function listRoutes<Context extends ConsoleContext>(
  { deriveKey }: WebhookServices,
  { ownerOf, reading, changing }: Access<Context>,
): Routes<Handler<Context>> {
  const encryptionKey = deriveKey('webhook secrets');
  return {
    '/webhooks': {
      GET: async (request, context) => {
        readQuery(request.url, []);
        const owner = ownerOf(context);
        const page = await reading(context, async (transaction) => ({
          data: (await findEndpoints(transaction, owner)).map(presentEndpoint),
          types: [...accountEventTypes, ...(owner.accountId === null ? operatorEventTypes : [])],
          max: maxEndpointsOf(owner),
          low_balance: await findLowBalance(transaction, owner),
        }));
        return Response.json(page satisfies Unsent<WebhookPage>);
      },
      /** The only response that contains the secret. */
      POST: async (request, context) => {
        readQuery(request.url, []);
        const owner = ownerOf(context);
        const draft = endpointDraftOf(await readBody(request, endpointDraftSchema), owner);
        return await changing(context, async (transaction) => {
          await keepSession(transaction, context.signedIn);
          const created = await createEndpointAs(transaction, context.actor, owner, draft, encryptionKey);
          return await showSecret(transaction, { ...owner, id: created.id }, created.secret);
        });
      },
    },
  };
}

function oneRoutes<Context extends ConsoleContext>(
  { deriveKey }: WebhookServices,
  { ownerOf, changing }: Access<Context>,
): Routes<Handler<Context>> {
  const encryptionKey = deriveKey('webhook secrets');
  const ownedBy = (context: Context) => ownedIn(context, ownerOf(context));
  return {
    '/webhooks/:webhook': {
      PATCH: async (request, context) => {
        const owned = ownedBy(context);
        readQuery(request.url, []);
        const change = endpointChangeOf(await readBody(request, endpointChangeSchema), owned);
        return await changing(context, async (transaction) => {
          await changeEndpointAs(transaction, context.actor, owned, change);
          const webhook = presentEndpoint(await requireEndpoint(transaction, owned));
          return Response.json(webhook satisfies Unsent<Webhook>);
        });
      },
      DELETE: async (request, context) => {
        const owned = ownedBy(context);
        readQuery(request.url, []);
        await changing(context, (transaction) => removeEndpointAs(transaction, context.actor, owned));
        return new Response(null, { status: 204 });
      },
    },
    '/webhooks/:webhook/rotate-secret': {
      POST: async (request, context) => {
        const owned = ownedBy(context);
        readQuery(request.url, []);
        await readBody(request, nothing);
        return await changing(context, async (transaction) => {
          await keepSession(transaction, context.signedIn);
          const secret = await rotateSecretAs(transaction, context.actor, owned, encryptionKey);
          return await showSecret(transaction, owned, secret);
        });
      },
    },
  };
}

function deliveryRoutes<Context extends ConsoleContext>({
  ownerOf,
  reading,
  changing,
}: Access<Context>): Routes<Handler<Context>> {
  const ownedBy = (context: Context) => ownedIn(context, ownerOf(context));
  return {
    '/webhooks/:webhook/deliveries': {
      GET: async (request, context) => {
        const owned = ownedBy(context);
        const query = readQuery(request.url, ['limit', 'cursor']);
        const limit = parseLimit(query.get('limit'), defaultLimit);
        const before = parseCursor(query.get('cursor'));
        const rows = await reading(context, async (transaction) => {
          await requireEndpoint(transaction, owned);
          return await findDeliveries(transaction, owned, before, limit + 1);
        });
        const page = presentPage(rows, limit, presentDelivery, ({ id }) => id);
        return Response.json(page satisfies Unsent<Page<WebhookDelivery>>);
      },
    },
    '/webhooks/:webhook/test': {
      POST: async (request, context) => {
        const owned = ownedBy(context);
        readQuery(request.url, []);
        await readBody(request, nothing);
        const eventId = await changing(context, (transaction) => sendTest(transaction, owned));
        return Response.json({ event_id: eventIdFromUuid(eventId) } satisfies WebhookTest);
      },
    },
    '/webhooks/:webhook/replay': {
      POST: async (request, context) => {
        const owned = ownedBy(context);
        readQuery(request.url, []);
        const what = replayOf(await readBody(request, replaySchema));
        const count = await changing(context, (transaction) => replay(transaction, owned, what));
        return Response.json({ deliveries: count } satisfies WebhookReplay);
      },
    },
  };
}

function ownedIn({ params }: ConsoleContext, owner: EndpointOwner): OwnedEndpoint {
  return { ...owner, id: idIn(params, 'webhook', 'webhook_not_found') };
}

async function showSecret(sql: SQL, owned: OwnedEndpoint, secret: string): Promise<Response> {
  const webhook = presentEndpoint(await requireEndpoint(sql, owned));
  return Response.json({ webhook, secret } satisfies Unsent<NewWebhook>);
}

async function findLowBalance(sql: SQL, { accountId }: EndpointOwner): Promise<string | null> {
  if (accountId === null) return null;
  const [row] = await sql<{ low_balance: string | null }[]>`
    select low_balance from account_details where account_id = ${accountId}`;
  return row?.low_balance ?? null;
}
