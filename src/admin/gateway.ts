/** The gateway itself: its nodes, circuits and catalogue, the audit log, and the token of the request. */
import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import { findAllChanges } from '../console/operator/audit-log.ts';
import { countAccounts, presentCatalog } from '../console/operator/catalog.ts';
import { findNodes, presentNode } from '../console/operator/nodes.ts';
import { circuitsByProvider, findReports } from '../console/operator/providers.ts';
import { ApiError } from '../errors.ts';
import { invalidQuery } from '../http/query.ts';
import { bodyOf } from '../json/fields.ts';
import { parseBody } from '../json/problem.ts';
import { BoundedQueue, OverloadError } from '../lib/bounded-queue.ts';
import { isUuid } from '../lib/ids.ts';
import { parseCatalog } from '../models/catalog.ts';
import { chargedAsInputIn, soldBelowCostIn } from '../models/review.ts';
import { requireToken } from '../tokens/token-store.ts';
import { checking, type Endpoints, reading } from './endpoint.ts';
import { pageOf, pageParameters, readPage } from './page.ts';
import type { AdminServices } from './services.ts';

/** Five times the shipped one. Parsing is not done in steps, and takes seconds for a megabyte. */
const maxCatalogueBytes = 256 * 1024;
/** Of all tokens together, on this node. */
const maxWaitingChecks = 10;
const yamlWords = 'the catalogue as a YAML text';

export const catalogueCheckSchema = bodyOf({ catalogue: z.string(yamlWords).min(1, yamlWords) });

export function gatewayEndpoints(services: AdminServices): Endpoints {
  const { sql, catalog, catalogFile, catalogStatus, nodeId } = services;
  const checkInTurn = catalogueChecks();
  return {
    '/nodes': {
      GET: reading({
        scope: 'read',
        read: async ({ actor }) => {
          const nodes = await findNodes(sql, actor);
          return {
            body: wholeList(nodes.map((node) => ({ object: 'node', ...presentNode(node, nodeId) }))),
          };
        },
      }),
    },
    '/circuits': {
      GET: reading({
        scope: 'read',
        read: async ({ actor }) => {
          const circuits = circuitsByProvider(await findReports(sql, actor));
          const data = [...circuits].flatMap(([provider, ofProvider]) =>
            ofProvider.map((circuit) => ({ object: 'circuit', provider, ...circuit })),
          );
          return { body: wholeList(data) };
        },
      }),
    },
    '/catalogue': {
      GET: reading({
        scope: 'read',
        read: async ({ actor }) => {
          const accounts = await countAccounts(sql, actor);
          return {
            body: {
              object: 'catalogue',
              ...presentCatalog(catalogFile, catalogStatus(), catalog(), accounts),
            },
          };
        },
      }),
    },
    '/catalogue/check': {
      POST: checking({
        scope: 'catalogue',
        parse: (body) => parseBody(catalogueCheckSchema, body),
        maxBytes: maxCatalogueBytes,
        check: async ({ body }) => ({ body: await checkInTurn(body.catalogue) }),
      }),
    },
  };
}

/** The token of the request, what it can do, and what was done. */
export function ownEndpoints({ sql, deriveKey }: AdminServices, document: () => Promise<string>): Endpoints {
  const cursorKey = deriveKey('admin cursor');
  return {
    '/token': {
      GET: reading({
        scope: null,
        read: async ({ actor }) => ({
          body: { object: 'admin_token', ...(await requireToken(sql, actor.tokenId)) },
        }),
      }),
    },
    '/openapi.json': { GET: reading({ scope: null, read: async () => ({ text: await document() }) }) },
    '/audit-log': {
      GET: reading({
        scope: 'read',
        query: [...pageParameters, 'account'],
        read: async ({ actor, query }) => {
          const accountId = query.get('account');
          if (accountId !== null && !isUuid(accountId)) throw invalidQuery('account', 'the ID of an account');
          const page = readPage(query, ['audit log', accountId], cursorKey);
          const changes = await findAllChanges(sql, actor, accountId, page.before, page.limit + 1);
          return {
            body: pageOf(
              changes,
              page,
              ({ object: target, ...change }) => ({ object: 'change', ...change, target }),
              ({ id }) => id,
            ),
          };
        },
      }),
    },
  };
}

/** One at a time, because nothing else runs meanwhile; other requests have their turn before each. */
function catalogueChecks() {
  const queue = new BoundedQueue({ maxRunning: 1, maxWaiting: maxWaitingChecks });
  return (text: string) =>
    queue
      .run({ origin: 'checks' }, async () => {
        await setImmediate();
        return checkCatalogue(text);
      })
      .catch((thrown: unknown) => {
        throw thrown instanceof OverloadError ? tooManyChecks() : thrown;
      });
}

function tooManyChecks(): ApiError {
  return new ApiError('rate_limit_exceeded', {
    retryAfterSeconds: 1,
    message: 'Too many catalogues are being checked. Try again in a moment.',
  });
}

/** As `tollgate catalog check`. */
function checkCatalogue(text: string) {
  const result = parseCatalog(text, 'catalogue');
  const object = 'catalogue_check';
  if (!result.ok)
    return {
      object,
      ok: false,
      problems: result.problems,
      price_version: null,
      models: null,
      providers: null,
      warnings: [],
      notes: [],
    };
  const { priceVersion, models, providers } = result.catalog;
  return {
    object,
    ok: true,
    problems: [],
    price_version: priceVersion,
    models: models.size,
    providers: providers.size,
    warnings: soldBelowCostIn(result.catalog),
    notes: chargedAsInputIn(result.catalog),
  };
}

/** Few enough for one page. */
function wholeList<Item>(data: readonly Item[]) {
  return { object: 'list', data, has_more: false, next_cursor: null };
}
