/** What everyone changed, the newest first. */
import type { SQL } from 'bun';
import type { LoggedChange } from '../../audit-log/read.ts';
import { changesQuery } from '../../audit-log/read.ts';
import { invalidQuery, parseLimit, readQuery } from '../../http/query.ts';
import { isUuid } from '../../lib/ids.ts';
import { type Found, type OperatorReader, operatorOnly, rowsForOperator } from '../access.ts';
import { boundedRead } from '../bounded-read.ts';
import type { Unsent } from '../contract.ts';
import type { ConsoleHandler, Routes } from '../guard.ts';
import type { AuditLog } from '../operator-contract.ts';
import { pageOf, parseCursor } from './list.ts';

const defaultLimit = 50;

export function auditLogPage({ sql }: Readonly<{ sql: SQL }>): Routes<ConsoleHandler> {
  return {
    '/audit-log': {
      GET: async (request, { signedIn }) => {
        const query = readQuery(request.url, ['account', 'limit', 'cursor']);
        const accountId = parseAccount(query.get('account'));
        const limit = parseLimit(query.get('limit'), defaultLimit);
        const before = parseCursor(query.get('cursor'));
        const changes = await boundedRead(sql, (read) =>
          findAllChanges(read, signedIn, accountId, before, limit + 1),
        );
        return Response.json(pageOf(changes, limit) satisfies Unsent<AuditLog>);
      },
    },
  };
}

function parseAccount(text: string | null): string | null {
  if (text !== null && !isUuid(text)) throw invalidQuery('account', 'the ID of an account');
  return text;
}

export async function findAllChanges(
  sql: SQL,
  reader: OperatorReader,
  accountId: string | null,
  before: string,
  rowCount: number,
): Promise<LoggedChange[]> {
  const rows = await sql<(Found<LoggedChange, 'id'> & { actor_user_id: string | null })[]>`
    select change.* from ${operatorOnly(sql, reader)} as allowed left join lateral (
      ${changesQuery(sql, { accountId, action: null }, before, rowCount)}
    ) as change on true
    order by change.id desc`;
  return rowsForOperator<LoggedChange, 'id'>(
    rows.map(({ actor_user_id: _, ...row }) => row as Found<LoggedChange, 'id'>),
    'id',
  );
}
