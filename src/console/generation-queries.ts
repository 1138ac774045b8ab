/** The Generations of an account, as far as the caller's membership goes: each statement asks for it. */
import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import {
  type GenerationFilter,
  type GenerationRecord,
  type GenerationSummary,
  pageQuery,
  type RecordRow,
  type SummaryRow,
  toRecord,
  toSummary,
} from '../generations/generation-store.ts';
import { type Caller, requireMember } from './access.ts';
import type { Role } from './contract.ts';

/** Of one key, or of all keys of the account. */
type AccountFilter = GenerationFilter & Readonly<{ keyId: string | null }>;

export type ListedGeneration = GenerationSummary & Readonly<{ key: { id: string; name: string } }>;

export type DetailedGeneration = GenerationRecord &
  Readonly<{
    key: { id: string; name: string; hint: string };
    /** Decimal texts with 12 digits. What was charged is null when nothing was. */
    charged: string | null;
    /** Null when the charge stands, or there was none. */
    refunded: string | null;
    isEstimated: boolean;
    writtenOff: string | null;
    writeOffReason: string | null;
  }>;

type ListedRow = SummaryRow & { key_id: string; key_name: string };
/** A member of an account without any is one row all the same. */
type FoundRow<Row> = ({ id: null } | Row) & { role: Role };

/** The newest `rowCount` before a position, in one snapshot of the open and the finished ones. */
export async function findPage(
  sql: SQL,
  caller: Caller,
  filter: AccountFilter,
  before: string,
  rowCount: number,
): Promise<ListedGeneration[]> {
  const { keyId } = filter;
  const rows = await (keyId === null
    ? findOfAccount(sql, caller, filter, before, rowCount)
    : findOfKey(sql, caller, keyId, filter, before, rowCount));
  requireMember(rows[0]?.role);
  return rows
    .filter((row) => row.id !== null)
    .map((row) => ({ ...toSummary(row), key: { id: row.key_id, name: row.key_name } }));
}

async function findOfAccount(
  sql: SQL,
  { userId, accountId }: Caller,
  filter: AccountFilter,
  before: string,
  rowCount: number,
): Promise<FoundRow<ListedRow>[]> {
  return await sql<FoundRow<ListedRow>[]>`
    select role, page.*, (select name from api_keys where id = page.key_id) as key_name
    from memberships
    left join lateral (${pageQuery(sql, { accountId }, filter, before, rowCount)}) as page on true
    where user_id = ${userId} and memberships.account_id = ${accountId}
    order by page.id desc`;
}

/** A key that the account does not have is refused: an empty list would look as if it had never been used. */
async function findOfKey(
  sql: SQL,
  { userId, accountId }: Caller,
  keyId: string,
  filter: AccountFilter,
  before: string,
  rowCount: number,
): Promise<FoundRow<ListedRow>[]> {
  const rows = await sql<(FoundRow<ListedRow> & { key_id: string | null })[]>`
    select role, page.*, api_keys.id as key_id, api_keys.name as key_name
    from memberships
    left join api_keys on api_keys.account_id = memberships.account_id and api_keys.id = ${keyId}
    left join lateral (${pageQuery(sql, { keyId }, filter, before, rowCount)}) as page on page.key_id = api_keys.id
    where user_id = ${userId} and memberships.account_id = ${accountId}
    order by page.id desc`;
  if (rows[0]?.key_id === null) throw new ApiError('key_not_found', { param: 'key' });
  return rows;
}

/** What is told of one Generation besides what a key is told of its own. */
export type DetailRow = RecordRow & {
  key_id: string;
  key_name: string;
  key_hint: string;
  charged: string | null;
  refunded: string | null;
  is_estimated: boolean;
  written_off: string | null;
  write_off_reason: string | null;
};

/**
 * Null when the account has no such Generation. What a provider reported and was not believed is between it and the
 * operator: to the customer nothing was written off.
 */
export async function findDetail(
  sql: SQL,
  { userId, accountId }: Caller,
  id: string,
): Promise<DetailedGeneration | null> {
  const [row] = await sql<FoundRow<DetailRow>[]>`
    select role, generation.*, api_keys.name as key_name, api_keys.hint as key_hint,
           -charge.amount as charged, refund.amount as refunded, coalesce(charge.is_estimated, false) as is_estimated,
           write_offs.amount as written_off, write_offs.reason as write_off_reason
    from memberships
    left join generation_details as generation
      on generation.id = ${id} and generation.account_id = memberships.account_id
    left join api_keys on api_keys.id = generation.key_id
    left join ledger_entries as charge on charge.generation_id = generation.id and charge.kind = 'charge'
    left join ledger_entries as refund on refund.generation_id = generation.id and refund.kind = 'refund'
    left join write_offs on write_offs.generation_id = generation.id and write_offs.reason <> 'implausible_usage'
    where user_id = ${userId} and memberships.account_id = ${accountId}`;
  requireMember(row?.role);
  return row === undefined || row.id === null ? null : toDetail(row);
}

export function toDetail(row: DetailRow): DetailedGeneration {
  return {
    ...toRecord(row),
    key: { id: row.key_id, name: row.key_name, hint: row.key_hint },
    charged: row.charged,
    refunded: row.refunded,
    isEstimated: row.is_estimated,
    writtenOff: row.written_off,
    writeOffReason: row.write_off_reason,
  };
}
