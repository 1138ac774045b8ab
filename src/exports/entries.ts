/**
 * Ledger entries, and the usage that was charged, both in the order of the ledger: by account, and by number within it. The
 * numbers of an account have no gaps and are committed in their order, so nothing appears later before a cursor.
 */
import type { SQL } from 'bun';
import { isUuid, nilId, requestIdFromUuid } from '../lib/ids.ts';
import { formatMoney, moneyFromDatabase } from '../lib/money.ts';
import { type Column, id, plain, text } from './columns.ts';
import type { ExportOrder, ExportPage, ExportSource } from './source.ts';
import { requireNotArchived } from './stored-range.ts';

type Place = Readonly<{ account_id: string; number: bigint }>;

const cursorOf = ({ account_id: accountId, number }: Place) => `${accountId}:${number}`;

const cursorPattern = /^([0-9a-f-]{36}):([1-9][0-9]{0,17})$/;

function placeAt(cursor: string): Place | null {
  const [, accountId = '', number = ''] = cursorPattern.exec(cursor) ?? [];
  return isUuid(accountId) ? { account_id: accountId, number: BigInt(number) } : null;
}

function isCursor(cursor: string, { accountId }: ExportOrder): boolean {
  const place = placeAt(cursor);
  return place !== null && (accountId === null || place.account_id === accountId);
}

type EntryRow = Place &
  Readonly<{
    created_at: Date;
    account_name: string;
    kind: string;
    amount: string;
    balance_after: string;
    is_estimated: boolean;
    memo: string | null;
    reference: string | null;
    actor: string | null;
    generation_id: string | null;
    concerns_entry: bigint | null;
    concerns_generation_id: string | null;
  }>;

/** Of both exports. */
const placeColumns = [
  plain<EntryRow>('id', cursorOf),
  plain<EntryRow>('created_at', (row) => row.created_at),
  id<EntryRow>('account_id', (row) => row.account_id),
  text<EntryRow>('account_name', (row) => row.account_name),
  plain<EntryRow>('number', (row) => row.number),
] as const;

const entryColumns = [
  ...placeColumns,
  plain('kind', (row) => row.kind),
  plain('amount_usd', (row) => row.amount),
  plain('balance_after_usd', (row) => row.balance_after),
  plain('request_id', (row) => {
    const generationId = row.generation_id ?? row.concerns_generation_id;
    return generationId === null ? null : requestIdFromUuid(generationId);
  }),
  plain('concerns_entry', (row) => row.concerns_entry),
  plain('is_estimated', (row) => row.is_estimated),
  text('memo', (row) => row.memo),
  text('reference', (row) => row.reference),
] as const satisfies readonly [Column<EntryRow>, ...Column<EntryRow>[]];

const actor = text<EntryRow>('actor', (row) => row.actor);

export const entriesExport: ExportSource<EntryRow> = {
  columns: (isOperator) => (isOperator ? [...entryColumns, actor] : entryColumns),
  isCursor,
  find: async (sql, order, after, rowCount) => {
    const found = await sql<Scanned<EntryRow>[]>`
      select page.*, (select name from accounts where accounts.id = page.account_id) as account_name
      from (${scanQuery(sql, order, after, rowCount)}) as page
      order by page.account_id, page.number`;
    return pageOf(found, rowCount, () => true);
  },
  requireStored: requireNotArchived,
};

type UsageRow = EntryRow &
  Readonly<{
    key_id: string;
    key_name: string;
    model: string;
    input_tokens: bigint;
    output_tokens: bigint;
    units: bigint;
    unit: string;
    tier: string | null;
    cost: string;
    billed_at: Date;
    cache_read_tokens: bigint | null;
    cache_write_tokens: bigint | null;
    refunded_at: Date | null;
    refunded: string;
    provider: string | null;
    provider_cost: string | null;
  }>;

const usageColumns = [
  ...placeColumns,
  plain('request_id', (row) => (row.generation_id === null ? null : requestIdFromUuid(row.generation_id))),
  id('key_id', (row) => row.key_id),
  text('key_name', (row) => row.key_name),
  text('model', (row) => row.model),
  plain('input_tokens', (row) => row.input_tokens),
  plain('output_tokens', (row) => row.output_tokens),
  plain('units', (row) => row.units),
  plain('unit', (row) => row.unit),
  text('tier', (row) => row.tier),
  plain('cache_read_tokens', (row) => row.cache_read_tokens),
  plain('cache_write_tokens', (row) => row.cache_write_tokens),
  plain('cost_usd', (row) => row.cost),
  plain('refunded_usd', refundedOf),
  plain('is_estimated', (row) => row.is_estimated),
  plain('billed_at', (row) => row.billed_at),
] as const satisfies readonly [Column<UsageRow>, ...Column<UsageRow>[]];

/** What the gateway takes back is all that was left of the cost. */
function refundedOf({ refunded_at: refundedAt, cost, refunded }: UsageRow): string {
  return formatMoney(moneyFromDatabase(refundedAt === null ? refunded : cost));
}

/** What the operator pays is not for customers. */
const providerColumns: readonly Column<UsageRow>[] = [
  text('provider', (row) => row.provider),
  plain('provider_cost_usd', (row) => row.provider_cost),
];

/** Each charge with its usage record. */
export const usageExport: ExportSource<UsageRow> = {
  columns: (isOperator) => (isOperator ? [...usageColumns, ...providerColumns] : usageColumns),
  isCursor,
  find: async (sql, order, after, rowCount) => {
    const found = await sql<Scanned<UsageRow>[]>`
      select page.*, (select name from accounts where accounts.id = page.account_id) as account_name,
             used.key_id, (select name from api_keys where api_keys.id = used.key_id) as key_name, used.model,
             used.input_tokens, used.output_tokens, used.units, used.unit, used.tier, used.cost, used.billed_at,
             used.cache_read_tokens, used.cache_write_tokens + used.cache_write_long_tokens as cache_write_tokens,
             used.refunded_at, used.refunded, used.provider, used.provider_cost
      from (${scanQuery(sql, order, after, rowCount)}) as page
      left join lateral (
        select * from usage_records where id = page.generation_id limit 1
      ) as used on page.kind = 'charge'
      order by page.account_id, page.number`;
    return pageOf(found, rowCount, ({ kind }) => kind === 'charge');
  },
  requireStored: requireNotArchived,
};

type Scanned<Row> = Row & Readonly<{ is_within: boolean; scanned_count: bigint }>;

/**
 * The query of the next `rowCount` entries, whatever their time: those within the range, and the last one. The ledger has no
 * index by time, and a statement that went on until it had found enough could take any time. Months outside of the range are
 * left out by their partitions.
 */
function scanQuery(sql: SQL, order: ExportOrder, after: string | null, rowCount: number) {
  const { accountId, from, to } = order;
  const place = after === null ? null : placeAt(after);
  const [fromText, toText] = [from.toISOString(), to.toISOString()];
  const isAfter =
    accountId === null
      ? sql`(account_id, number) > (${place?.account_id ?? nilId}::uuid, ${`${place?.number ?? 0}`}::text::bigint)`
      : sql`account_id = ${accountId}::uuid and number > ${`${place?.number ?? 0}`}::text::bigint`;
  return sql`
    select account_id, number, created_at, kind, amount, balance_after, is_estimated, memo, actor, generation_id,
           concerns_entry, concerns_generation_id, coalesce(reference_text, reference::text) as reference, is_within, scanned_count
    from (
      select *, created_at >= ${fromText}::text::timestamptz and created_at < ${toText}::text::timestamptz as is_within,
             count(*) over () as scanned_count, lead(number) over (order by account_id, number) is null as is_last
      from (
        select * from ledger_entries
        where ${isAfter}
          and created_at >= ${monthsOf(order).begin}::text::timestamptz
          and created_at < ${monthsOf(order).end}::text::timestamptz
        order by account_id, number limit ${rowCount}::int
      ) as scanned
    ) as seen
    where is_within or is_last`;
}

/** The months that the range touches, as a whole. */
export function monthsOf({ from, to }: Pick<ExportOrder, 'from' | 'to'>): Readonly<{
  begin: string;
  end: string;
}> {
  const last = new Date(to.getTime() - 1);
  return {
    begin: new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth())).toISOString(),
    end: new Date(Date.UTC(last.getUTCFullYear(), last.getUTCMonth() + 1)).toISOString(),
  };
}

function pageOf<Row extends Place>(
  scanned: readonly Scanned<Row>[],
  rowCount: number,
  isWanted: (row: Row) => boolean,
): ExportPage<Row> {
  const last = scanned.at(-1);
  return {
    rows: scanned.filter((row) => row.is_within && isWanted(row)),
    next: last === undefined || Number(last.scanned_count) < rowCount ? null : cursorOf(last),
  };
}
