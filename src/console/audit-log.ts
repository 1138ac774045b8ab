/** What was changed in an account, for its owners, and for operators as its owners see it. */
import type { SQL } from 'bun';
import { isOwnColumn, type OwnedChange, presentForOwners } from '../audit-log/for-owners.ts';
import { changesQuery } from '../audit-log/read.ts';
import { presentPage } from '../http/present-page.ts';
import { invalidQuery, parseLimit, readQuery } from '../http/query.ts';
import { isUuid } from '../lib/ids.ts';
import { type Caller, findStanding, ownedAccount, requireOwningReader } from './access.ts';
import { boundedRead } from './bounded-read.ts';
import type { AccountAuditLog, Unsent } from './contract.ts';
import type { AccountHandler, Routes } from './guard.ts';
import { parseCursor } from './operator/list.ts';

const defaultLimit = 50;

export function accountAuditLogPage({ sql }: Readonly<{ sql: SQL }>): Routes<AccountHandler> {
  return {
    '/audit-log': {
      GET: async (request, { caller }) => {
        const query = readQuery(request.url, ['key', 'limit', 'cursor']);
        const limit = parseLimit(query.get('limit'), defaultLimit);
        const before = parseCursor(query.get('cursor'));
        const keyId = parseKey(query.get('key'));
        const changes = await boundedRead(sql, (read) => findChanges(read, caller, keyId, before, limit + 1));
        const page = presentPage(changes, limit, presentForOwners, ({ id }) => id);
        return Response.json(page satisfies Unsent<AccountAuditLog>);
      },
    },
  };
}

function parseKey(text: string | null): string | null {
  if (text !== null && !isUuid(text)) throw invalidQuery('key', 'the ID of a key');
  return text?.toLowerCase() ?? null;
}

async function findChanges(
  sql: SQL,
  caller: Caller,
  keyId: string | null,
  before: string,
  rowCount: number,
): Promise<OwnedChange[]> {
  const { accountId } = caller;
  const rows = await sql<OwnedChange[]>`
    select change.*,
           ${isOwnColumn(sql, accountId)}
    from ${ownedAccount(sql, caller)} as readable cross join lateral (
      ${changesQuery(sql, { accountId, action: null, keyId }, before, rowCount)}
    ) as change
    order by change.id desc`;
  if (rows.length === 0) requireOwningReader(await findStanding(sql, caller));
  return rows;
}
