/** What the database has of events, and what has happened by its other tables, once all is quiet. */
import type { SQL } from 'bun';
import { eventIdFromUuid } from '../../src/events/event.ts';
import type { MadeEndpoint } from '../trials/webhooks.ts';
import type { ReceivedDelivery } from '../world/webhook-receiver.ts';

export type RecordedEvent = Readonly<{
  id: string;
  accountId: string | null;
  type: string;
  /** Null if it was not published. */
  sequence: number | null;
  /** What it tells of, as `Happened` names it; null for what no other table has. */
  about: string | null;
  atMs: number;
}>;

/** Something that has to be told once. `mayBeTold`: it may have begun and ended between two looks. */
export type Happened = Readonly<{ about: string; mayBeTold?: boolean }>;

export type RecordedEndpoint = MadeEndpoint & Readonly<{ createdAtMs: number; isDisabled: boolean }>;

export type EventLog = Readonly<{
  events: readonly RecordedEvent[];
  happened: readonly Happened[];
  endpoints: readonly RecordedEndpoint[];
  deliveries: readonly ReceivedDelivery[];
}>;

type EventRow = {
  id: string;
  account_id: string | null;
  type: string;
  sequence: bigint | null;
  about: string | null;
  at: number;
};

export async function readEvents(
  sql: SQL,
  endpoints: readonly MadeEndpoint[],
  deliveries: readonly ReceivedDelivery[],
): Promise<EventLog> {
  const rows = await sql<EventRow[]>`
    select id, account_id, type, sequence, extract(epoch from created_at)::float8 * 1000 as at,
      case
        when type in ('credit.added', 'balance.corrected', 'charge.refunded', 'grant.expired', 'grant.voided') then concat_ws(' ', type, account_id,
          data ->> 'entry_number', data ->> 'amount')
        when type in ('key.created', 'key.revoked') then concat_ws(' ', type, data ->> 'key_id')
        when type in ('account.suspended', 'account.resumed') then concat_ws(' ', type, account_id,
          row_number() over (partition by account_id, type order by written))
        when type in ('payment.succeeded', 'payment.failed') then concat_ws(' ', type, data ->> 'payment_id', data ->> 'amount')
        when type in ('payment.refunded', 'payment.disputed') then concat_ws(' ', type, data ->> 'reversal_id')
      end as about
    from events order by written`;
  return {
    events: rows.map((row) => ({
      id: eventIdFromUuid(row.id),
      accountId: row.account_id,
      type: row.type,
      sequence: row.sequence === null ? null : Number(row.sequence),
      about: row.about,
      atMs: row.at,
    })),
    happened: await readHappened(sql),
    endpoints: await readEndpoints(sql, endpoints),
    deliveries,
  };
}

/** A charge is not told. */
async function readHappened(sql: SQL): Promise<Happened[]> {
  const rows = await sql<{ about: string; may_be_told: boolean }[]>`
    select concat_ws(' ', case kind when 'credit' then 'credit.added' when 'refund' then 'charge.refunded'
      when 'expiry' then 'grant.expired' when 'void' then 'grant.voided' else 'balance.corrected' end, account_id, number, amount) as about, false as may_be_told
    from ledger_entries where kind <> 'charge'
    union all select concat_ws(' ', 'key.created', id), false from api_keys
    union all select concat_ws(' ', 'key.revoked', id), false from api_keys where revoked_at <= now()
    union all select concat_ws(' ', case action when 'suspend_account' then 'account.suspended' else 'account.resumed' end,
      account_id, row_number() over (partition by account_id, action order by id)), false
    from audit_log where action in ('suspend_account', 'resume_account')
    union all select concat_ws(' ', 'payment.succeeded', id, amount), false from payment_orders where credited_at is not null
    union all select concat_ws(' ', 'payment.failed', id, amount), false from payment_orders
    where state = 'contradicted' or state = 'failed' and (kind = 'automatic' or session is not null)
    union all select concat_ws(' ', case kind when 'refund' then 'payment.refunded' else 'payment.disputed' end, id),
      due = 0 and entry_count = 0 from payment_reversals`;
  return rows.map(({ about, may_be_told: mayBeTold }) => ({ about, mayBeTold }));
}

async function readEndpoints(sql: SQL, made: readonly MadeEndpoint[]): Promise<RecordedEndpoint[]> {
  const rows = await sql<{ id: string; at: number; is_disabled: boolean }[]>`
    select id, extract(epoch from created_at)::float8 * 1000 as at, disabled_at is not null as is_disabled
    from webhook_endpoints`;
  const known = new Map(rows.map((row) => [row.id, row]));
  return made.map((endpoint) => ({
    ...endpoint,
    createdAtMs: known.get(endpoint.id)?.at ?? 0,
    isDisabled: known.get(endpoint.id)?.is_disabled ?? true,
  }));
}
