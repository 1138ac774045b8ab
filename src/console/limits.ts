/** The limits of an account: members see them; owners set, change and remove their own. */
import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import { presentPage } from '../http/present-page.ts';
import { parseLimit, readQuery } from '../http/query.ts';
import { readBody } from '../json/fields.ts';
import {
  limitChangeOf,
  limitChangeSchema,
  limitDraftOf,
  limitDraftSchema,
  limitFilterParameters,
  readLimitFilter,
} from '../limits/limit-body.ts';
import {
  createLimitAs,
  findLimit,
  type LimitFilter,
  readLimits,
  removeLimitAs,
  type Limit as StoredLimit,
  updateLimitAs,
} from '../limits/limit-store.ts';
import { presentLimit } from '../limits/present.ts';
import { asOwner, idIn, readableAccount } from './access.ts';
import { boundedRead } from './bounded-read.ts';
import type { Limit, Page, Unsent } from './contract.ts';
import type { AccountHandler, Routes } from './guard.ts';
import { parseCursor } from './operator/list.ts';

export function limitsPage({ sql }: Readonly<{ sql: SQL }>): Routes<AccountHandler> {
  return {
    '/limits': {
      GET: async (request, { caller }) =>
        await listFor(request, (filter) =>
          boundedRead(sql, (read) => readLimits(read, readableAccount(read, caller), filter)),
        ),
      POST: async (request, { caller, actor }) => {
        readQuery(request.url, []);
        const wire = await readBody(request, limitDraftSchema);
        return await asOwner(sql, caller, async (transaction) => {
          const { accountId } = caller;
          const draft = limitDraftOf(wire, { accountId, setBy: 'account', now: new Date() });
          return respondWith(await createLimitAs(transaction, actor, draft));
        });
      },
    },
    '/limits/:limit': {
      PATCH: async (request, { caller, actor, params }) => {
        const id = idIn(params, 'limit', 'limit_not_found');
        readQuery(request.url, []);
        const wire = await readBody(request, limitChangeSchema);
        return await asOwner(sql, caller, async (transaction) => {
          const { kind } = requireOwn(await findLimit(transaction, id, caller.accountId));
          const change = limitChangeOf(wire, kind, new Date());
          return respondWith(await updateLimitAs(transaction, actor, id, change));
        });
      },
      DELETE: async (request, { caller, actor, params }) => {
        const id = idIn(params, 'limit', 'limit_not_found');
        readQuery(request.url, []);
        await asOwner(sql, caller, async (transaction) => {
          requireOwn(await findLimit(transaction, id, caller.accountId));
          await removeLimitAs(transaction, actor, id);
        });
        return new Response(null, { status: 204 });
      },
    },
  };
}

/** Neither the account of a limit nor who has set it ever changes, so what was found stays true. */
function requireOwn(limit: StoredLimit | null): StoredLimit {
  if (limit === null) throw new ApiError('limit_not_found');
  if (limit.setBy === 'operator')
    throw new ApiError('permission_denied', {
      message: 'The operator has set this limit, and only the operator can change it.',
    });
  return limit;
}

const defaultLimit = 50;

/** A page of limits. `find` returns null for an account that the caller may not see. */
export async function listFor(
  request: Request,
  find: (filter: LimitFilter) => Promise<StoredLimit[] | null>,
): Promise<Response> {
  const query = readQuery(request.url, [...limitFilterParameters, 'limit', 'cursor']);
  const limit = parseLimit(query.get('limit'), defaultLimit);
  const before = parseCursor(query.get('cursor'));
  const found = await find({ ...readLimitFilter(query), before, count: limit + 1 });
  if (found === null) throw new ApiError('account_not_found');
  const page = presentPage(found, limit, presentNamed, ({ id }) => id);
  return Response.json(page satisfies Unsent<Page<Limit>>);
}

export function respondWith(limit: StoredLimit): Response {
  return Response.json(presentNamed(limit) satisfies Unsent<Limit>);
}

function presentNamed(limit: StoredLimit) {
  return {
    ...presentLimit(limit, new Date()),
    key_name: limit.keyName,
    counted_since: limit.countedSince?.toISOString() ?? null,
  };
}
