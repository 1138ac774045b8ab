/** The limits of any account, for operators. What they set, owners cannot change. */
import type { SQL } from 'bun';
import { ApiError } from '../../errors.ts';
import { readQuery } from '../../http/query.ts';
import { readBody } from '../../json/fields.ts';
import { limitChangeOf, limitChangeSchema, limitDraftOf, limitDraftSchema } from '../../limits/limit-body.ts';
import {
  createLimitAs,
  findLimit,
  readLimits,
  removeLimitAs,
  updateLimitAs,
} from '../../limits/limit-store.ts';
import { accountIn, asOperator, idIn, operatorOnly } from '../access.ts';
import { boundedRead } from '../bounded-read.ts';
import type { ConsoleHandler, Routes } from '../guard.ts';
import { listFor, respondWith } from '../limits.ts';

export function accountLimitsPage({ sql }: Readonly<{ sql: SQL }>): Routes<ConsoleHandler> {
  return {
    '/accounts/:account/limits': {
      GET: async (request, { params, signedIn }) => {
        const account = sql`(
          select accounts.id as account_id from accounts, ${operatorOnly(sql, signedIn)} as allowed
          where accounts.id = ${accountIn(params)})`;
        return await listFor(request, (filter) =>
          boundedRead(sql, (read) => readLimits(read, account, filter)),
        );
      },
      POST: async (request, context) => {
        const accountId = accountIn(context.params);
        readQuery(request.url, []);
        const wire = await readBody(request, limitDraftSchema);
        return await asOperator(sql, context, async (transaction) => {
          const draft = limitDraftOf(wire, { accountId, setBy: 'operator', now: new Date() });
          return respondWith(await createLimitAs(transaction, context.actor, draft));
        });
      },
    },
    '/limits/:limit': {
      PATCH: async (request, context) => {
        const id = idIn(context.params, 'limit', 'limit_not_found');
        readQuery(request.url, []);
        const wire = await readBody(request, limitChangeSchema);
        return await asOperator(sql, context, async (transaction) => {
          const limit = await findLimit(transaction, id);
          if (limit === null) throw new ApiError('limit_not_found');
          const change = limitChangeOf(wire, limit.kind, new Date());
          return respondWith(await updateLimitAs(transaction, context.actor, id, change));
        });
      },
      DELETE: async (request, context) => {
        const id = idIn(context.params, 'limit', 'limit_not_found');
        readQuery(request.url, []);
        await asOperator(sql, context, (transaction) => removeLimitAs(transaction, context.actor, id));
        return new Response(null, { status: 204 });
      },
    },
  };
}
