/** The account in the path of a request: its ID, or `external_id:` and its ID in another system. */
import type { SQL } from 'bun';
import type { AccountReader } from '../console/access.ts';
import { ApiError } from '../errors.ts';
import { isUuid } from '../lib/ids.ts';
import type { Call } from './endpoint.ts';

const externalPrefix = 'external_id:';

export async function accountOf(sql: SQL, { params }: Pick<Call, 'params'>): Promise<string> {
  const text = params.account ?? '';
  const found = text.startsWith(externalPrefix)
    ? await findByExternalId(sql, text.slice(externalPrefix.length))
    : await findById(sql, text);
  if (found === null) throw new ApiError('account_not_found', { message: 'There is no such account.' });
  return found;
}

async function findById(sql: SQL, text: string): Promise<string | null> {
  if (!isUuid(text)) return null;
  const [row] = await sql<{ id: string }[]>`select id from accounts where id = ${text}`;
  return row?.id ?? null;
}

async function findByExternalId(sql: SQL, externalId: string): Promise<string | null> {
  // PostgreSQL cannot store a NUL.
  if (externalId.includes('\0')) return null;
  const [row] = await sql<{ account_id: string }[]>`
    select account_id from account_details where external_id = ${externalId}`;
  return row?.account_id ?? null;
}

/** Whoever reads the account in the path, for queries that check it themselves. */
export async function readerOf(sql: SQL, call: Pick<Call, 'params' | 'actor'>): Promise<AccountReader> {
  return { tokenId: call.actor.tokenId, accountId: await accountOf(sql, call) };
}
