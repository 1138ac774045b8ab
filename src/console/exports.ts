/** Exports from the dashboard: owners of their own account, operators of one account, as its owners see it too, or of all of them. */
import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import { type Exports, exportParameters } from '../exports/exports.ts';
import { type ExportName, exportNames } from '../exports/source.ts';
import { readQuery } from '../http/query.ts';
import { isUuid } from '../lib/ids.ts';
import type { SignedIn } from '../people/sessions.ts';
import { currentSession, findStanding, operatorOnly, ownedAccount, requireOwningReader } from './access.ts';
import type { AccountHandler, ConsoleHandler, Routes } from './guard.ts';

type ExportServices = Readonly<{ sql: SQL; exports: Exports }>;

export function accountExports(services: ExportServices): Routes<AccountHandler> {
  return ofEach<AccountHandler>((name) => async (request, { caller, signedIn, base, inSlot }) => {
    const query = readQuery(request.url, exportParameters);
    // It is checked before each page, too. This says why it is refused.
    await inSlot(async () => requireOwningReader(await findStanding(services.sql, caller)));
    const { accountId } = caller;
    return await services.exports.respond({
      name,
      origins: [`account ${accountId}`, `user ${signedIn.userId}`],
      access: {
        allowed: (sql) => whileSignedIn(sql, signedIn, ownedAccount(sql, caller)),
        isOperator: false,
        accountId,
      },
      query,
      request,
      context: base,
    });
  });
}

export function operatorExports(services: ExportServices): Routes<ConsoleHandler> {
  return ofEach<ConsoleHandler>((name) => async (request, { signedIn, base, inSlot }) => {
    const query = readQuery(request.url, ['account', ...exportParameters]);
    const accountId = query.get('account')?.toLowerCase() ?? null;
    if (accountId !== null) await inSlot(() => requireAccount(services.sql, accountId));
    return await services.exports.respond({
      name,
      origins: [`user ${signedIn.userId}`],
      access: {
        allowed: (sql) => whileSignedIn(sql, signedIn, operatorOnly(sql, signedIn)),
        isOperator: true,
        accountId,
      },
      query,
      request,
      context: base,
    });
  });
}

/** An export takes long enough for its user to sign out meanwhile, or to be signed out. */
function whileSignedIn(sql: SQL, signedIn: SignedIn, allowed: SQL.Query<unknown>) {
  return sql`(select 1 from ${allowed} as allowed, ${currentSession(sql, signedIn)} as signed_in)`;
}

/** A file without a line would look as if nothing had happened. */
async function requireAccount(sql: SQL, id: string): Promise<void> {
  const found = isUuid(id) ? await sql`select 1 from accounts where id = ${id}` : [];
  if (found.length === 0) throw new ApiError('account_not_found', { message: 'There is no such account.' });
}

function ofEach<PageHandler>(handlerOf: (name: ExportName) => PageHandler): Routes<PageHandler> {
  return Object.fromEntries(exportNames.map((name) => [`/exports/${name}`, { GET: handlerOf(name) }]));
}
