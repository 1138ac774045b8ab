/** Many charged Generations of the last two months, as a gateway of the version before would have left them. */
import type { SQL } from 'bun';

const accountCount = 200;
const days = 60;

/** They are made in the database, which takes a minute for a million. Half of the usage is added up by day. */
export async function insertOldGenerations(sql: SQL, count: number): Promise<void> {
  await sql`select create_partitions((now() - make_interval(days => ${days + 1}))::date, current_date)`;
  await sql`
    create temporary table old_keys as
    select place, gen_random_uuid() as account_id, gen_random_uuid() as key_id from generate_series(1, ${accountCount}::int) as place`;
  await sql`insert into accounts (id, name) select account_id, 'Old' from old_keys`;
  await sql`
    insert into api_keys (id, account_id, name, hash, hint, requests_per_minute)
    select key_id, account_id, 'Old', sha256(key_id::text::bytea), 'old', 100 from old_keys`;
  await sql`insert into api_key_meters (key_id) select key_id from old_keys`;
  await sql`
    insert into ledger_entries (account_id, number, kind, amount, balance_after, created_at)
    select account_id, 1, 'credit', 1, 1, now() - make_interval(days => ${days}) from old_keys`;
  // IDs begin with their time in milliseconds.
  await sql`
    create temporary table old_requests as
    select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || left(md5(number::text), 3) || '8'
             || substr(md5(number::text), 4, 15))::uuid as id,
           account_id, key_id, at, 1 + number / ${accountCount}::int as number, 'model-' || number % 7 as model
    from (select number, now() - make_interval(days => ${days})
                   + number * make_interval(secs => ${(days * 86_400 - 60) / count}::float8) as at
          from generate_series(${accountCount}::int, ${accountCount + count - 1}::int) as number) as numbers
    join old_keys on place = 1 + number % ${accountCount}::int`;
  const [{ list }] = await sql<[{ list: number }]>`select max(id)::int as list from price_lists`;
  await sql`
    insert into usage_records (id, account_id, key_id, model, input_tokens, output_tokens, units, unit, cost, price_list_id,
      month, billed_at)
    select id, account_id, key_id, model, 10, 20, 30, 'tokens', 0.000035, ${list}, date_trunc('month', at)::date, at
    from old_requests`;
  await sql`
    insert into ledger_entries (account_id, number, kind, amount, balance_after, generation_id, created_at)
    select account_id, number, 'charge', -0.000035, 1 - (number - 1) * 0.000035, id, at from old_requests`;
  await sql`
    insert into generations (id, account_id, key_id, workload, model, provider, status, streaming, fallback, attempt_count,
      price_list_id, input_tokens, output_tokens, units, unit, cost_input, cost_output, cost_total, latency_ms, created_at,
      completed_at)
    select id, account_id, key_id, 'chat', model, 'sandbox', 'completed', false, false, 1, ${list}, 10, 20, 30, 'tokens',
           0.000005, 0.00003, 0.000035, 5, at, at
    from old_requests`;
  await sql`
    update accounts set entry_count = last.number, balance = last.balance_after from (
      select distinct on (account_id) account_id, number, balance_after from ledger_entries
      order by account_id, number desc) as last
    where last.account_id = accounts.id and accounts.name = 'Old'`;
  await sql`
    select add_up_usage(account_id, 1000000) from old_keys where place <= ${accountCount / 2}::int`;
  await sql`analyze`;
}
