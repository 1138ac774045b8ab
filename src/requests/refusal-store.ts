/** Refusals as they are stored. */
import type { SQL } from 'bun';

/** Amounts are decimal strings; for limits of requests or tokens they are counts. */
export type StoredRefusal = Readonly<{
  id: string;
  account_id: string;
  key_id: string;
  api: string;
  model: string | null;
  code: string;
  http_status: number;
  param: string | null;
  short_of: 'balance' | 'key_month' | 'limit' | null;
  needed: string | null;
  available: string | null;
  fitting_max_tokens: bigint | null;
  retry_after_seconds: number | null;
}>;

/** Labels are kinds and what a customer calls it, as in generation_attributions. */
export type NewRefusal = Omit<StoredRefusal, 'fitting_max_tokens'> &
  Readonly<{
    fitting_max_tokens: number | null;
    labels: readonly (readonly [kind: string, label: string])[];
  }>;

/** How many requests were refused in a minute. In a flood the model may be empty and the key nil: see count-detail.ts. */
export type RefusalCount = {
  readonly at: string;
  readonly account_id: string;
  readonly key_id: string;
  readonly model: string;
  readonly error_code: string;
  count: number;
};

/** Once for each number of a node, however often it is called. */
export async function storeRefusals(
  sql: SQL,
  nodeId: string,
  number: number,
  rows: readonly NewRefusal[],
  counts: readonly RefusalCount[],
): Promise<void> {
  await sql`
    select store_refusals(${nodeId}::uuid, ${number}::bigint, ${JSON.stringify(rows)}::text::jsonb,
      ${JSON.stringify(counts)}::text::jsonb)`;
}

/** Removes some of those that are older. Returns how many. */
export async function removeOldRefusals(sql: SQL, retentionDays: number): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    with removed as (
      delete from refusals
      where id in (
        select id from refusals where id < first_id_at(now() - make_interval(days => ${retentionDays}::int))
        order by id limit 1000 for update skip locked
      )
      returning id
    ), forgotten as (
      delete from generation_attributions where generation_id in (select id from removed)
    ), ended as (
      delete from refusal_flushes where stored_at < now() - make_interval(days => ${retentionDays}::int)
    )
    select count(*)::int as count from removed`;
  return row?.count ?? 0;
}
