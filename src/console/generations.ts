/** Generations of an account: the list of the admin API, and one of them with what became of the money. */
import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import {
  attributedQuery,
  type FoundList,
  findMatching,
  type ScannedRow,
} from '../generations/attributed-query.ts';
import {
  attributionColumn,
  attributionParameters,
  type Label,
  parseLabels,
} from '../generations/attribution.ts';
import type { CursorScope } from '../generations/cursor.ts';
import {
  type GenerationFilter,
  type GenerationRecord,
  type GenerationSummary,
  pageQuery,
} from '../generations/generation-store.ts';
import { parseListQuery } from '../generations/parse-list.ts';
import { presentGeneration, presentSummary } from '../generations/present.ts';
import { presentPage } from '../http/present-page.ts';
import { invalidQuery, type Query } from '../http/query.ts';
import { isUuid } from '../lib/ids.ts';
import { formatMoney } from '../lib/money.ts';
import { type AccountReader, type Found, readableAccount, rowsForReader } from './access.ts';
import type { GenerationDetail, Page } from './contract.ts';
import { meteredCosts } from './metered-costs.ts';

function parseKey(text: string | null): string | null {
  if (text !== null && !isUuid(text)) throw invalidQuery('key', 'the ID of a key');
  return text;
}

export const filterParameters = ['status', 'model', 'key', ...attributionParameters] as const;

/** Of one key, or of all keys of the account. */
export type AccountFilter = GenerationFilter & Readonly<{ keyId: string | null; labels?: readonly Label[] }>;

export function parseFilter(query: Query): AccountFilter {
  const { filter } = parseListQuery(query);
  return { ...filter, keyId: parseKey(query.get('key')), labels: parseLabels(query) };
}

/** Labels come last, and only if there are any, so that cursors made before there were labels stay valid. */
export function scopeOf(
  accountId: string,
  { keyId, status, model, labels = [] }: AccountFilter,
): CursorScope {
  return [accountId, keyId, status, model, ...labels.flat()];
}

export type ListedGeneration = GenerationSummary & Readonly<{ key_id: string; key_name: string }>;

export function presentRow(listed: ListedGeneration) {
  return { ...presentSummary(listed), key: { id: listed.key_id, name: listed.key_name } };
}

/** Amounts are decimal strings with 12 digits. */
export type DetailedGeneration = GenerationRecord &
  Readonly<{
    key_id: string;
    key_name: string;
    key_hint: string;
    /** Null when nothing was charged. */
    charged: string | null;
    /** Null when there was no charge, or it stands. */
    refunded: string | null;
    refunds: GenerationRefund[] | null;
    is_estimated: boolean;
    written_off: string | null;
    write_off_reason: string | null;
  }>;

/** Without what is only worked out when somebody asks. */
export function presentDetail(generation: DetailedGeneration): Omit<GenerationDetail, 'draws'> {
  const { charged, refunded, refunds, is_estimated, written_off, write_off_reason } = generation;
  const ledger = {
    charged: charged ?? formatMoney(0n),
    refunded,
    refunds: refunds ?? [],
    is_estimated,
    written_off,
    write_off_reason,
  };
  return {
    ...presentGeneration(generation),
    key: { id: generation.key_id, name: generation.key_name, hint: generation.key_hint },
    meters: meteredCosts(generation),
    ledger: generation.status === 'in_progress' ? null : ledger,
  };
}

type GenerationRefund = NonNullable<GenerationDetail['ledger']>['refunds'][number];

/** What was refunded of a Generation, for queries that find one. Its rows are those of the table or alias `generation`. */
export function refundsQuery(sql: SQL) {
  return sql`
    select sum(amount)::numeric(38,12) as refunded,
           json_agg(json_build_object('amount', amount::text, 'reason', memo, 'at',
             to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) order by number) as refunds
    from ledger_entries where ledger_entries.generation_id = generation.id and kind = 'refund'`;
}

/** There may be more even if `rows` has none: with several filters, not everything is looked at for one page. */
export function presentList<Row extends Readonly<{ id: string }>, Item>(
  { rows, scannedTo }: FoundList<Row>,
  limit: number,
  present: (row: Row) => Item,
  cursorAt: (id: string) => string,
): Page<Item> {
  const page = presentPage(rows, limit, present, ({ id }) => cursorAt(id));
  if (page.has_more || scannedTo === null) return page;
  return { ...page, has_more: true, next_cursor: cursorAt(scannedTo) };
}

/** The newest `rowCount` before a position. */
export async function findList(
  sql: SQL,
  reader: AccountReader,
  filter: AccountFilter,
  before: string,
  rowCount: number,
): Promise<FoundList<ListedGeneration>> {
  const { labels = [] } = filter;
  if (labels.length > 0) return await findAttributed(sql, reader, { ...filter, labels }, before, rowCount);
  return { rows: await findPage(sql, reader, filter, before, rowCount), scannedTo: null };
}

async function findAttributed(
  sql: SQL,
  reader: AccountReader,
  filter: AccountFilter & Readonly<{ labels: readonly Label[] }>,
  before: string,
  rowCount: number,
): Promise<FoundList<ListedGeneration>> {
  const { keyId } = filter;
  const ask = async (position: string, scanCount: number) => {
    const rows = await sql<Found<ScannedGeneration, 'scanned_id'>[]>`
      select page.*, api_keys.name as key_name, ${attributionColumn(sql, 'page')},
             ${keyId}::uuid is null or exists (
               select 1 from api_keys where id = ${keyId}::uuid and account_id = readable.account_id) as is_key_known
      from ${readableAccount(sql, reader)} as readable
      left join lateral (${attributedQuery(sql, { ...filter, accountId: reader.accountId }, position, scanCount)}) as page on true
      left join api_keys on api_keys.id = page.key_id
      order by page.scanned_id desc`;
    if (rows.some((row) => 'is_key_known' in row && !row.is_key_known))
      throw new ApiError('key_not_found', { param: 'key' });
    return rowsForReader(rows, 'scanned_id');
  };
  return await findMatching(ask, before, rowCount);
}

type ScannedGeneration = Omit<ListedGeneration, 'id'> & ScannedRow & Readonly<{ is_key_known: boolean }>;

/** The newest `rowCount` before a position, in one snapshot of the open and the finished ones. */
export async function findPage(
  sql: SQL,
  reader: AccountReader,
  filter: AccountFilter,
  before: string,
  rowCount: number,
): Promise<ListedGeneration[]> {
  const { keyId } = filter;
  const rows = await (keyId === null
    ? findOfAccount(sql, reader, filter, before, rowCount)
    : findOfKey(sql, reader, keyId, filter, before, rowCount));
  return rowsForReader(rows, 'id');
}

async function findOfAccount(
  sql: SQL,
  reader: AccountReader,
  filter: AccountFilter,
  before: string,
  rowCount: number,
): Promise<Found<ListedGeneration, 'id'>[]> {
  return await sql<Found<ListedGeneration, 'id'>[]>`
    select page.*, (select name from api_keys where id = page.key_id) as key_name, ${attributionColumn(sql, 'page')}
    from ${readableAccount(sql, reader)} as readable
    left join lateral (${pageQuery(sql, { accountId: reader.accountId }, filter, before, rowCount)}) as page on true
    order by page.id desc`;
}

/** A key that the account does not have is an error: an empty list would look as if it had never been used. */
async function findOfKey(
  sql: SQL,
  reader: AccountReader,
  keyId: string,
  filter: AccountFilter,
  before: string,
  rowCount: number,
): Promise<Found<ListedGeneration, 'id'>[]> {
  const rows = await sql<(Found<ListedGeneration, 'id'> & { key_id: string | null })[]>`
    select page.*, api_keys.id as key_id, api_keys.name as key_name, ${attributionColumn(sql, 'page')}
    from ${readableAccount(sql, reader)} as readable
    left join api_keys on api_keys.account_id = readable.account_id and api_keys.id = ${keyId}
    left join lateral (${pageQuery(sql, { keyId }, filter, before, rowCount)}) as page on page.key_id = api_keys.id
    order by page.id desc`;
  if (rows[0]?.key_id === null) throw new ApiError('key_not_found', { param: 'key' });
  return rows;
}

/**
 * Null when the account has no such Generation. Implausible usage is between the provider and the operator: to the
 * customer nothing was written off.
 */
export async function findDetail(
  sql: SQL,
  reader: AccountReader,
  id: string,
): Promise<DetailedGeneration | null> {
  const rows = await sql<Found<DetailedGeneration, 'id'>[]>`
    select generation.*, api_keys.name as key_name, api_keys.hint as key_hint,
           -charge.amount as charged, refunds.*, coalesce(charge.is_estimated, false) as is_estimated,
           write_offs.amount as written_off, write_offs.reason as write_off_reason,
           ${attributionColumn(sql, 'generation')}
    from ${readableAccount(sql, reader)} as readable
    left join generation_details as generation
      on generation.id = ${id} and generation.account_id = readable.account_id
    left join api_keys on api_keys.id = generation.key_id
    left join ledger_entries as charge on charge.generation_id = generation.id and charge.kind = 'charge'
    left join lateral (${refundsQuery(sql)}) as refunds on true
    left join write_offs on write_offs.generation_id = generation.id and write_offs.reason <> 'implausible_usage'`;
  return rowsForReader(rows, 'id')[0] ?? null;
}
