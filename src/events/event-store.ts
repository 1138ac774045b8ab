/** Reads published events, the oldest first, so that a reader goes on from where it was. */
import type { SQL } from 'bun';
import type { StoredEvent } from './event.ts';

type EventFilter = Readonly<{ accountId: string | null; type: string | null }>;

export type PlacedEvent = StoredEvent & Readonly<{ position: bigint }>;

/** Which columns of `events` and `account_details` make an event. */
export function eventColumns(sql: SQL) {
  return sql`events.id, events.account_id, account_details.external_id, type, version, events.created_at, data, sequence`;
}

export async function findEvents(
  sql: SQL,
  { accountId, type }: EventFilter,
  after: bigint,
  rowCount: number,
): Promise<PlacedEvent[]> {
  const ofAccount = accountId === null ? sql`true` : sql`events.account_id = ${accountId}::uuid`;
  return await sql<PlacedEvent[]>`
    select ${eventColumns(sql)}, position
    from events left join account_details on account_details.account_id = events.account_id
    where ${ofAccount} and (${type}::text is null or type = ${type}::text) and position > ${after}::bigint
    order by position limit ${rowCount}::int`;
}

/** Null when there is no such event any more. */
export async function positionOfEvent(sql: SQL, id: string): Promise<bigint | null> {
  const [row] = await sql<{ position: bigint }[]>`
    select position from events where id = ${id} and position is not null`;
  return row?.position ?? null;
}
