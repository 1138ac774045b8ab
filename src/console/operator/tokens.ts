/** The tokens of the admin API. Each statement runs in a transaction that checks that an operator runs it. */
import type { SQL } from 'bun';
import { readQuery } from '../../http/query.ts';
import { nothing, readBody, readSmallBody } from '../../json/fields.ts';
import { parseTokenDraft } from '../../tokens/token-body.ts';
import { createTokenAs, findTokens, requireToken, revokeTokenAs } from '../../tokens/token-store.ts';
import { asOperator, idIn, keepSession } from '../access.ts';
import type { Unsent } from '../contract.ts';
import type { ConsoleHandler, Routes } from '../guard.ts';
import type { AdminToken, NewAdminToken } from '../operator-contract.ts';

export function tokensPage(
  { sql }: Readonly<{ sql: SQL }>,
  adminDocument: () => Promise<string>,
): Routes<ConsoleHandler> {
  return {
    '/openapi.json': {
      GET: async (request) => {
        readQuery(request.url, []);
        const headers = { 'content-type': 'application/json;charset=utf-8' };
        return new Response(await adminDocument(), { headers });
      },
    },
    '/tokens': {
      GET: async (request, context) => {
        readQuery(request.url, []);
        const data = await asOperator(sql, context, (transaction) => findTokens(transaction));
        return Response.json({ data: data satisfies Unsent<AdminToken>[] });
      },
      /** The only response that contains the token. */
      POST: async (request, context) => {
        readQuery(request.url, []);
        const draft = parseTokenDraft(await readSmallBody(request), new Date());
        return await asOperator(sql, context, async (transaction) => {
          await keepSession(transaction, context.signedIn);
          const { id, secret } = await createTokenAs(transaction, context.actor, draft);
          const token = await requireToken(transaction, id);
          return Response.json({ token, secret } satisfies Unsent<NewAdminToken>);
        });
      },
    },
    '/tokens/:token/revoke': {
      POST: async (request, context) => {
        const id = idIn(context.params, 'token', 'token_not_found');
        readQuery(request.url, []);
        await readBody(request, nothing);
        return await asOperator(sql, context, async (transaction) => {
          await revokeTokenAs(transaction, context.actor, id);
          return Response.json((await requireToken(transaction, id)) satisfies Unsent<AdminToken>);
        });
      },
    },
  };
}
