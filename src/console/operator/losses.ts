/** What went wrong with money, or with telling about it: write-offs, failed settlements, failing webhooks. */
import type { SQL } from 'bun';
import { requestIdFromUuid } from '../../lib/ids.ts';
import { formatMoney, moneyFromDatabase } from '../../lib/money.ts';
import type { Span } from '../../rollups/range.ts';
import { type Found, type OperatorReader, operatorOnly, rowsForOperator } from '../access.ts';
import type { Unsent } from '../contract.ts';
import type { OperatorHome } from '../home-contract.ts';

type Home = Unsent<OperatorHome>;

const maxLatest = 5;

type ReasonRow = Readonly<{ reason: string; count: number; amount: string; unknown: number }>;
type WriteOffRow = Readonly<{
  generation_id: string;
  account_id: string;
  account_name: string;
  reason: string;
  amount: string | null;
  created_at: Date;
}>;

/** By when the request arrived, which is in its ID. */
export async function findWriteOffs(
  sql: SQL,
  reader: OperatorReader,
  { fromMs, toMs }: Span,
): Promise<Home['write_offs']> {
  const inRange = sql`generation_id >= first_id_at(to_timestamp(${fromMs}::float8 / 1000))
    and generation_id < first_id_at(to_timestamp(${toMs}::float8 / 1000))`;
  const reasons = await sql<Found<ReasonRow, 'reason'>[]>`
    select by_reason.* from ${operatorOnly(sql, reader)} as allowed left join lateral (
      select reason, count(*)::int as count, coalesce(sum(amount), 0)::numeric(38,12)::text as amount,
             (count(*) filter (where amount is null))::int as unknown
      from write_offs where ${inRange} group by reason
    ) as by_reason on true
    order by count desc, reason`;
  const latest = await sql<Found<WriteOffRow, 'generation_id'>[]>`
    select written_off.* from ${operatorOnly(sql, reader)} as allowed left join lateral (
      select generation_id, account_id, accounts.name as account_name, reason, amount::text as amount, write_offs.created_at
      from write_offs join accounts on accounts.id = account_id
      where ${inRange} order by generation_id desc limit ${maxLatest}::int
    ) as written_off on true
    order by generation_id desc`;
  return {
    reasons: rowsForOperator(reasons, 'reason').map((row) => ({
      ...row,
      amount: formatMoney(moneyFromDatabase(row.amount)),
    })),
    latest: rowsForOperator(latest, 'generation_id').map((row) => ({
      request_id: requestIdFromUuid(row.generation_id),
      account: { id: row.account_id, name: row.account_name },
      reason: row.reason,
      amount: row.amount === null ? null : formatMoney(moneyFromDatabase(row.amount)),
      at: row.created_at,
    })),
  };
}

export async function findFailedSettlements(
  sql: SQL,
  reader: OperatorReader,
): Promise<Home['failed_settlements']> {
  const rows = await sql<Found<Home['failed_settlements'], 'count'>[]>`
    select failed.* from ${operatorOnly(sql, reader)} as allowed left join lateral (
      select count(*)::int as count, min(created_at) as oldest_at from dead_letters
    ) as failed on true`;
  const [row] = rowsForOperator(rows, 'count');
  return row ?? { count: 0, oldest_at: null };
}

const maxWebhooks = 10;

type WebhookRow = Readonly<{
  total: number;
  account_id: string | null;
  account_name: string | null;
  url: string;
  failing_since: Date | null;
  is_disabled: boolean;
}>;

/** Only the host, because the rest of an address may hold a secret. */
export async function findFailingWebhooks(
  sql: SQL,
  reader: OperatorReader,
): Promise<Home['failing_webhooks']> {
  const found = await sql<Found<WebhookRow, 'total'>[]>`
    select failing.* from ${operatorOnly(sql, reader)} as allowed left join lateral (
      select (count(*) over ())::int as total, account_id, accounts.name as account_name, url, failing_since,
             disabled_at is not null as is_disabled
      from webhook_endpoints left join accounts on accounts.id = account_id
      where failing_since is not null and disabled_at is null or disabled_because in ('failing', 'gone')
      order by failing_since nulls last, webhook_endpoints.id limit ${maxWebhooks}::int
    ) as failing on true
    order by failing_since nulls last`;
  const rows = rowsForOperator(found, 'total');
  return {
    count: rows[0]?.total ?? 0,
    data: rows.map((row) => ({
      account: row.account_id === null ? null : { id: row.account_id, name: row.account_name ?? '' },
      host: URL.parse(row.url)?.host ?? '',
      failing_since: row.failing_since?.toISOString() ?? null,
      is_disabled: row.is_disabled,
    })),
  };
}
