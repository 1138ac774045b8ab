/**
 * Fills the ledger with Generations that were never requested, in SQL, with every row that a real one leaves behind, so
 * that an audit finds nothing. All are of the current month, so that the partition that requests write to is the large one.
 */
import type { SQL } from 'bun';
import { addUpUsage } from '../src/usage/usage-days.ts';
import type { Owner } from './accounts.ts';

/** One transaction. */
const maxBatch = 100_000;
const credit = '1000000';
/** What a request of the bench costs. */
const cost = { input: '0.0000063', output: '0.00006', total: '0.0000663', hold: '0.0003' };

export type FillOwner = Pick<Owner, 'accountId' | 'keyId'>;

/** Adds Generations, equally many for each account, and returns how many were added. */
export async function fillGenerations(
  sql: SQL,
  owners: readonly FillOwner[],
  wanted: number,
  onBatch: (filled: number) => void = () => undefined,
): Promise<number> {
  const [{ id: priceListId }] = await sql<[{ id: number }]>`select max(id) as id from price_lists`;
  const turns = Math.ceil(wanted / owners.length);
  const turnsPerBatch = Math.max(1, Math.floor(maxBatch / owners.length));
  for (let filled = 0; filled < turns; filled += turnsPerBatch) {
    await fillBatch(sql, owners, Math.min(turnsPerBatch, turns - filled), priceListId);
    onBatch(Math.min(turns, filled + turnsPerBatch) * owners.length);
  }
  return turns * owners.length;
}

async function fillBatch(
  sql: SQL,
  owners: readonly FillOwner[],
  turns: number,
  priceListId: number,
): Promise<void> {
  const keyIds = sql.array(
    owners.map(({ keyId }) => keyId),
    'uuid',
  );
  await sql.begin(async (transaction) => {
    await transaction`set local synchronous_commit = off`;
    // No entry may come in between: their numbers have no gaps.
    await transaction`
      select 1 from accounts join api_keys on account_id = accounts.id where api_keys.id = any (${keyIds}::uuid[])
      order by accounts.id for no key update of accounts`;
    await transaction`
      with owner as materialized (
        select accounts.id as account_id, api_keys.id as key_id, balance, entry_count
        from accounts join api_keys on account_id = accounts.id where api_keys.id = any (${keyIds}::uuid[])
      ), filled as materialized (
        select uuidv7() as id, turn, owner.* from generate_series(1, ${turns}::int) as turn cross join owner
      ), used as (
        insert into usage_records (id, account_id, key_id, model, input_tokens, output_tokens, units, unit, cost,
          price_list_id, month, billed_at)
        select id, account_id, key_id, 'bench-json', 42, 100, 142, 'tokens', ${cost.total}::numeric, ${priceListId}::int,
               date_trunc('month', now() at time zone 'UTC'), now()
        from filled
      ), charged as (
        insert into ledger_entries (account_id, number, kind, amount, balance_after, generation_id, is_estimated, created_at)
        select account_id, entry_count + turn, 'charge', -${cost.total}::numeric, balance - turn * ${cost.total}::numeric,
               id, false, now()
        from filled
      ), tried as (
        insert into attempts (generation_id, index, provider, status, started_at, completed_at, upstream_status)
        select id, 1, 'upstream', 'succeeded', now(), now(), 200 from filled
      )
      insert into generations (id, account_id, key_id, workload, model, provider, status, streaming, fallback,
        attempt_count, hold, price_list_id, input_tokens, output_tokens, units, unit, cost_input, cost_output, cost_total,
        latency_ms, created_at, completed_at)
      select id, account_id, key_id, 'chat', 'bench-json', 'upstream', 'completed', false, false, 1,
             ${cost.hold}::numeric, ${priceListId}::int, 42, 100, 142, 'tokens', ${cost.input}::numeric,
             ${cost.output}::numeric, ${cost.total}::numeric, 5, now(), now()
      from filled`;
    await transaction`
      update accounts set balance = balance - ${turns}::int * ${cost.total}::numeric,
                          entry_count = entry_count + ${turns}::int
      from api_keys where account_id = accounts.id and api_keys.id = any (${keyIds}::uuid[])`;
    await transaction`
      update api_key_meters
      set month = date_trunc('month', now() at time zone 'UTC'),
          month_spent = ${turns}::int * ${cost.total}::numeric
            + case when month = date_trunc('month', now() at time zone 'UTC') then month_spent else 0 end
      where key_id = any (${keyIds}::uuid[])`;
  });
}

/** Deletes all charges, and gives every account the same credit. */
export async function emptyLedger(sql: SQL): Promise<void> {
  await sql.begin(async (transaction) => {
    // Triggers forbid this for good reasons. This database exists for this run only.
    await transaction`set local session_replication_role = replica`;
    await transaction`
      truncate generations, attempts, usage_records, ledger_entries, usage_days, margin_days, usage_progress`;
    await transaction`update accounts set balance = ${credit}::numeric, entry_count = 1`;
    await transaction`
      insert into ledger_entries (account_id, number, kind, amount, balance_after, memo)
      select id, 1, 'credit', ${credit}::numeric, ${credit}::numeric, 'Bench' from accounts`;
    await transaction`update api_key_meters set month_spent = 0`;
  });
}

/** Does now what would otherwise happen while requests are measured. */
export async function finishMaintenance(sql: SQL): Promise<void> {
  for (;;) {
    const [{ behind }] = await sql<[{ behind: number }]>`
      select count(*)::int as behind from accounts left join usage_progress on account_id = id
      where entry_count > coalesce(entry_number, 0)`;
    if (behind === 0) break;
    // The gateway may be doing it already; then this returns at once.
    await addUpUsage(sql);
    await Bun.sleep(50);
  }
  await sql`
    vacuum (analyze) generations, attempts, usage_records, ledger_entries, open_generations, accounts, api_key_meters`;
  await sql`checkpoint`;
}

export async function countGenerations(sql: SQL): Promise<number> {
  const [{ count }] = await sql<[{ count: number }]>`select count(*)::int as count from generations`;
  return count;
}

/** What a stored Generation takes on disk, with its attempt, its usage record and its ledger entry. */
export type Storage = Readonly<{ tableBytes: number; indexBytes: number }>;

export async function measureStorage(sql: SQL): Promise<Storage> {
  const [row] = await sql<[{ tables: number; indexes: number; generations: number }]>`
    select sum(pg_table_size(tree.relid))::float8 as tables, sum(pg_indexes_size(tree.relid))::float8 as indexes,
           (select count(*)::float8 from generations) as generations
    from unnest(array['generations', 'attempts', 'usage_records', 'ledger_entries']::regclass[]) as base
    cross join lateral pg_partition_tree(base) as tree where tree.isleaf`;
  return { tableBytes: row.tables / row.generations, indexBytes: row.indexes / row.generations };
}
