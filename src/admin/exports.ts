/** Exports, of one account or of all of them. */
import { operatorOnly } from '../console/access.ts';
import { formats } from '../exports/columns.ts';
import { exportParameters } from '../exports/exports.ts';
import { exportNames } from '../exports/source.ts';
import { accountOf } from './account.ts';
import { type Endpoints, streaming } from './endpoint.ts';
import type { AdminServices } from './services.ts';

/** For the document. */
export const exportFormats = formats;

export function exportEndpoints(services: AdminServices): Endpoints {
  return Object.fromEntries(
    exportNames.map((name) => [
      `/exports/${name}`,
      {
        GET: streaming({
          scope: 'read',
          query: ['account', ...exportParameters],
          stream: async ({ actor, query, request }, context) => {
            const account = query.get('account');
            const accountId =
              account === null ? null : await accountOf(services.sql, { params: { account } });
            return await services.exports.respond({
              name,
              origins: [`token ${actor.tokenId}`],
              access: { allowed: (sql) => operatorOnly(sql, actor), isOperator: true, accountId },
              query,
              request,
              context,
            });
          },
        }),
      },
    ]),
  );
}
