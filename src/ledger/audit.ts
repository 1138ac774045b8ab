/**
 * The invariants of the ledger, each as a query. All run in one snapshot, so the audit can run while requests are being
 * settled.
 */
import type { SQL, TransactionSQL } from 'bun';

export type Finding = Readonly<{ invariant: string; checked: number; violations: number }>;

/** Each query returns how many rows it checked and how many violate the invariant. */
const invariants: readonly Readonly<{ invariant: string; query: string }>[] = [
  {
    invariant: 'the entries of each account sum to its balance',
    query: `select count(*) as checked, count(*) filter (where balance <> total) as violations
            from (select balance, coalesce((select sum(amount) from ledger_entries where account_id = accounts.id), 0) as total from accounts) as sums`,
  },
  {
    invariant: 'entries are numbered without gaps, and each balance follows from the one before',
    query: `select count(*) as checked,
                   count(*) filter (where number <> place or balance_after <> running) as violations
            from (select number, balance_after, row_number() over one as place, sum(amount) over one as running
                  from ledger_entries window one as (partition by account_id order by number)) as walk`,
  },
  {
    invariant: 'the last entry of each account carries its balance and its number of entries',
    query: `select count(*) as checked,
                   count(*) filter (where balance <> coalesce(balance_after, 0) or entry_count <> coalesce(number, 0)) as violations
            from accounts left join lateral (
              select balance_after, number from ledger_entries where account_id = accounts.id order by number desc limit 1
            ) as last on true`,
  },
  {
    invariant: 'the held amount of each account equals its open holds',
    query: `select count(*) as checked, count(*) filter (where held <> total) as violations
            from (select held, coalesce((select sum(hold) from open_generations where account_id = accounts.id), 0) as total from accounts) as sums`,
  },
  {
    invariant: 'the held amount of each key equals its open holds',
    query: `select count(*) as checked, count(*) filter (where held <> total) as violations
            from (select held, coalesce((select sum(hold) from open_generations where open_generations.key_id = api_key_meters.key_id), 0) as total
                  from api_key_meters) as sums`,
  },
  {
    invariant: 'no account holds less than nothing or more than its balance',
    query: `select count(*) as checked, count(*) filter (where held < 0 or held > balance) as violations from accounts`,
  },
  {
    invariant: 'no Generation is charged twice',
    query: `select count(*) as checked, count(*) filter (where charges > 1) as violations
            from (select count(*) as charges from ledger_entries where kind = 'charge' group by generation_id) as per_generation`,
  },
  {
    invariant: 'no charge exceeds its hold by more than what is tolerated: 1 %, and a few tokens',
    query: `select count(*) as checked, count(*) filter (where cost_total > hold * 1.01 + 17 * (
                     coalesce(cost_input / nullif(input_tokens, 0), 0) + coalesce(cost_output / nullif(output_tokens, 0), 0))) as violations
            from generations where cost_total is not null and hold is not null`,
  },
  {
    invariant: 'each refund gives back the whole of a charge, once',
    query: `select count(*) as checked, count(*) filter (where charge.amount is distinct from -refund.amount) as violations
            from (select * from ledger_entries where kind = 'refund') as refund
            left join ledger_entries as charge on charge.generation_id = refund.generation_id and charge.kind = 'charge'
              and charge.account_id = refund.account_id and charge.number < refund.number`,
  },
  {
    invariant: 'the open Generations of each key are as many as its limit counts',
    query: `select count(*) as checked, count(*) filter (where open_count <> counted) as violations
            from (select open_count, (select count(*) from open_generations where open_generations.key_id = api_key_meters.key_id) as counted
                  from api_key_meters) as counts`,
  },
  {
    invariant: 'each charge has a usage record of the same amount, and each usage record a charge',
    query: `select count(*) as checked, count(*) filter (where amount is distinct from -cost) as violations
            from (select * from ledger_entries where kind = 'charge') as charges
            full join usage_records on usage_records.id = charges.generation_id`,
  },
  {
    invariant: 'each Generation with a cost has a charge of that amount',
    query: `select count(*) as checked,
                   count(*) filter (where ledger_entries.amount is null
                     or -ledger_entries.amount <> cost_total) as violations
            from generations left join ledger_entries on generation_id = generations.id and kind = 'charge'
            where cost_total is not null`,
  },
  {
    invariant:
      'no charge that stands exists without a finished Generation that has a cost, as long as that is retained',
    query: `select count(*) as checked,
                   count(*) filter (where generations.id is not null and (cost_total is null) = (refund.generation_id is null)) as violations
            from (select * from ledger_entries where kind = 'charge') as charge
            left join generations on generations.id = charge.generation_id
            left join ledger_entries as refund on refund.generation_id = charge.generation_id and refund.kind = 'refund'`,
  },
  {
    invariant: 'no Generation is both open and finished',
    query: `select (select count(*) from open_generations) as checked, count(*) as violations
            from open_generations join generations on generations.id = open_generations.id`,
  },
  {
    invariant: 'what each key spent in its month equals its usage records of that month',
    query: `select count(*) as checked, count(*) filter (where month_spent <> coalesce(total, 0)) as violations
            from api_key_meters left join (
              select key_id, month, sum(cost) as total from usage_records where refunded_at is null group by 1, 2) as used
            using (key_id, month)`,
  },
  {
    invariant: 'usage that was added up by day, model and key equals its usage records',
    query: `with counted as (
              select usage_records.account_id, (billed_at at time zone 'UTC')::date as day, model, key_id, sum(sign) as requests,
                     sum(sign * input_tokens) as input_tokens, sum(sign * output_tokens) as output_tokens,
                     coalesce(sum(sign * units) filter (where unit = 'images'), 0) as images, sum(sign * cost) as cost
              from usage_progress
              join ledger_entries on ledger_entries.account_id = usage_progress.account_id and number <= entry_number
              join usage_records on usage_records.id = generation_id
              cross join lateral (select case kind when 'refund' then -1 else 1 end as sign) as signed
              group by 1, 2, 3, 4
            )
            select count(*) as checked,
                   count(*) filter (where (days.requests, days.input_tokens, days.output_tokens, days.images, days.cost)
                     is distinct from (counted.requests, counted.input_tokens, counted.output_tokens, counted.images, counted.cost)) as violations
            from usage_days as days full join counted using (account_id, day, model, key_id)`,
  },
  {
    invariant: 'every entry, hold, usage record and write-off belongs to an account that exists',
    query: `select count(*) as checked, count(*) filter (where accounts.id is null) as violations
            from (select account_id from ledger_entries union all select account_id from open_generations
                  union all select account_id from usage_records union all select account_id from write_offs) as owned
            left join accounts on accounts.id = account_id`,
  },
  {
    invariant: 'every hold and usage record belongs to a key of its account and to a price list that exist',
    query: `select count(*) as checked, count(*) filter (where api_keys.id is null or price_lists.id is null) as violations
            from (select key_id, account_id, price_list_id from open_generations
                  union all select key_id, account_id, price_list_id from usage_records) as owned
            left join api_keys on api_keys.id = key_id and api_keys.account_id = owned.account_id
            left join price_lists on price_lists.id = price_list_id`,
  },
];

export async function auditLedger(sql: SQL): Promise<Finding[]> {
  return await sql.begin('isolation level repeatable read read only', checkInvariants);
}

/** The transaction must be repeatable read, so that all queries see one snapshot. */
export async function checkInvariants(transaction: TransactionSQL): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { invariant, query } of invariants) {
    const [row] = await transaction.unsafe<[{ checked: bigint; violations: bigint }]>(query);
    findings.push({ invariant, checked: Number(row.checked), violations: Number(row.violations) });
  }
  return findings;
}
