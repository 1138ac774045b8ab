/** The limits of an account, its keys and its end users. */
import type { SQL } from 'bun';
import { idIn, readableAccount } from '../console/access.ts';
import { ApiError } from '../errors.ts';
import { parseBody } from '../json/problem.ts';
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
  type Limit,
  readLimits,
  removeLimitAs,
  updateLimitAs,
} from '../limits/limit-store.ts';
import { presentLimit } from '../limits/present.ts';
import { accountOf, readerOf } from './account.ts';
import { type Answer, type Call, changing, type Endpoints, nothing, reading } from './endpoint.ts';
import { etagOf, readPrecondition, requireMatch } from './etag.ts';
import { pageOf, pageParameters, readPage } from './page.ts';
import type { AdminServices } from './services.ts';

export function limitEndpoints(services: AdminServices): Endpoints {
  return { ...allLimits(services), ...oneLimit(services) };
}

function allLimits({ sql, deriveKey }: AdminServices): Endpoints {
  const cursorKey = deriveKey('admin cursor');
  return {
    '/accounts/:account/limits': {
      GET: reading({
        scope: 'read',
        query: [...limitFilterParameters, ...pageParameters],
        read: async (call) => {
          const filter = readLimitFilter(call.query);
          const reader = await readerOf(sql, call);
          const { keyId, endUser } = filter;
          const page = readPage(call.query, ['limits', reader.accountId, keyId, endUser], cursorKey);
          const found = await readLimits(sql, readableAccount(sql, reader), {
            ...filter,
            before: page.before,
            count: page.limit + 1,
          });
          if (found === null) throw new ApiError('account_not_found');
          return { body: pageOf(found, page, presentOwn, ({ id }) => id) };
        },
      }),
      POST: changing({
        scope: 'accounts',
        parse: (body) => parseBody(limitDraftSchema, body),
        change: async (transaction, call) => {
          const accountId = await accountOf(transaction, call);
          const draft = limitDraftOf(call.body, { accountId, setBy: 'operator', now: new Date() });
          return { status: 201, ...answerOf(await createLimitAs(transaction, call.actor, draft)) };
        },
      }),
    },
  };
}

function oneLimit({ sql }: AdminServices): Endpoints {
  return {
    '/limits/:id': {
      GET: reading({
        scope: 'read',
        read: async (call) => answerOf(await requireLimit(sql, limitIn(call))),
      }),
      PATCH: changing({
        scope: 'accounts',
        parse: (body) => parseBody(limitChangeSchema, body),
        change: async (transaction, call) => {
          const precondition = readPrecondition(call.headers);
          const { id, kind } = await requireLimit(transaction, limitIn(call));
          const change = limitChangeOf(call.body, kind, new Date());
          const changed = await updateLimitAs(transaction, call.actor, id, change, (current) =>
            requireMatch(precondition, limitTag(current)),
          );
          return answerOf(changed);
        },
      }),
      DELETE: changing({
        scope: 'accounts',
        parse: nothing,
        change: async (transaction, call) => {
          const id = limitIn(call);
          const precondition = call.headers.has('if-match') ? readPrecondition(call.headers) : null;
          await removeLimitAs(transaction, call.actor, id, (current) => {
            if (precondition !== null) requireMatch(precondition, limitTag(current));
          });
          return { body: { object: 'limit', id, deleted: true } };
        },
      }),
    },
  };
}

function limitIn({ params }: Pick<Call, 'params'>): string {
  return idIn(params, 'id', 'limit_not_found');
}

async function requireLimit(sql: SQL, id: string): Promise<Limit> {
  const limit = await findLimit(sql, id);
  if (limit === null) throw new ApiError('limit_not_found');
  return limit;
}

function answerOf(limit: Limit): Answer {
  return { body: presentOwn(limit), etag: limitTag(limit) };
}

function limitTag({ amount, increase }: Limit): string {
  return etagOf({
    amount: `${amount}`,
    increase: increase && [`${increase.amount}`, increase.until.toISOString()],
  });
}

function presentOwn(limit: Limit) {
  return { object: 'limit', ...presentLimit(limit, new Date()) };
}
