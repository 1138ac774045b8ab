/** What an account's requests used and cost: usage by day, and Generations. */
import {
  filterParameters,
  findList,
  parseFilter,
  presentList,
  presentRow,
  scopeOf,
} from '../console/generations.ts';
import { findAnyGeneration, presentAny } from '../console/operator/generations.ts';
import { maxUsageRows, parseRange, presentUsage } from '../console/usage.ts';
import { beginningOf, findUsage } from '../console/usage-queries.ts';
import { ApiError } from '../errors.ts';
import { findDrawsOfGeneration } from '../grants/grant-store.ts';
import { presentDraws } from '../grants/present.ts';
import { lookUp } from '../http/lookup.ts';
import { invalidQuery } from '../http/query.ts';
import { uuidFromRequestId } from '../lib/ids.ts';
import { dayOf } from '../usage/days.ts';
import { readerOf } from './account.ts';
import { type Endpoints, reading } from './endpoint.ts';
import { pageParameters, readPage } from './page.ts';
import type { AdminServices } from './services.ts';

export function activityEndpoints({ sql, reads, deriveKey }: AdminServices): Endpoints {
  const cursorKey = deriveKey('admin cursor');
  return {
    '/accounts/:account/usage': {
      GET: reading({
        scope: 'read',
        query: ['from', 'to'],
        read: async (call) => {
          const range = parseRange(call.query, dayOf(new Date()));
          const reader = await readerOf(sql, call);
          const rows = await lookUp('usage_lookup_failed', () =>
            findUsage(reads(), reader, beginningOf(range.from), range.to, maxUsageRows + 1),
          );
          if (rows.length > maxUsageRows)
            throw invalidQuery('from', `fewer days, because these have more than ${maxUsageRows} rows`);
          return { body: { object: 'usage', account_id: reader.accountId, ...presentUsage(range, rows) } };
        },
      }),
    },
    '/accounts/:account/generations': {
      GET: reading({
        scope: 'read',
        query: [...filterParameters, ...pageParameters],
        read: async (call) => {
          const filter = parseFilter(call.query);
          const reader = await readerOf(sql, call);
          const page = readPage(call.query, ['generations', ...scopeOf(reader.accountId, filter)], cursorKey);
          const found = await lookUp('generation_lookup_failed', () =>
            findList(reads(), reader, filter, page.before, page.limit + 1),
          );
          return { body: { object: 'list', ...presentList(found, page.limit, presentRow, page.cursorAt) } };
        },
      }),
    },
    '/generations/:generation': {
      GET: reading({
        scope: 'read',
        read: async ({ params, actor }) => {
          const id = uuidFromRequestId(params.generation ?? '');
          const found =
            id === null
              ? null
              : await lookUp('generation_lookup_failed', () => findAnyGeneration(sql, actor, id));
          if (found === null)
            throw new ApiError('generation_not_found', {
              message: 'No account has a Generation with this ID.',
            });
          const draws = await lookUp('generation_lookup_failed', () =>
            findDrawsOfGeneration(sql, { id: found.id, accountId: found.account_id }),
          );
          return { body: { ...presentAny(found), drawn_from: presentDraws(draws) } };
        },
      }),
    },
  };
}
