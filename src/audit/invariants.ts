/**
 * The invariants of the ledger, each as a query that returns how many rows it checked and how many violate it. A full audit
 * starts where the archives end, any other at the checkpoints of the last sound one.
 */
import { accountHeld, type Counter, keyHeld, keyMonthSpent, keyOpenCount, limitHeld } from './counters.ts';
import { grantInvariants } from './grant-invariants.ts';
import { type AuditScope, type Invariant, maybeArchived } from './invariant.ts';
import { meterInvariants } from './meter-invariants.ts';
import { movementInvariants } from './movement-invariants.ts';
import { withBase } from './new-entries.ts';
import { paymentInvariants } from './payment-invariants.ts';
import { sampledAttemptSums, sampledRequestSums } from './rollup-sums.ts';
import { everyStatementDay } from './statement-sums.ts';
import { everyUsageDay, usageDaysSinceCheckpoint } from './usage-sums.ts';

/** A record stays for as long as there is a refund of it. */
const isRefunded = '(refunded_at is not null or refunded > 0)';

function ofCounter({ invariant, rows }: Counter): Invariant {
  return {
    invariant,
    query: ({ archivedBefore }) => `
      select count(*) as checked, count(*) filter (where stored <> counted) as violations
      from (${rows(archivedBefore)}) as counters`,
  };
}

export const invariants: readonly Invariant[] = [
  {
    invariant: 'the entries of each account sum to its balance',
    query: (scope) => `${withBase(scope)}
      select count(*) as checked,
             count(*) filter (where accounts.balance <> base.balance + coalesce(total, 0)) as violations
      from accounts join base on base.account_id = accounts.id
      left join (select account_id, sum(amount) as total from entries group by account_id) as sums
        on sums.account_id = accounts.id`,
  },
  {
    invariant: 'entries are numbered without gaps, and each balance follows from the one before',
    query: (scope) => `${withBase(scope)}
      select count(*) as checked, count(*) filter (where number <> place or balance_after <> running) as violations
      from (select entries.number, balance_after, coalesce(base.number, 0) + row_number() over one as place,
                   coalesce(base.balance, 0) + sum(amount) over one as running
            from entries left join base on base.account_id = entries.account_id
            window one as (partition by entries.account_id order by entries.number)) as walk`,
  },
  {
    invariant: 'the last entry of each account carries its balance and its number of entries',
    query: (scope) => `${withBase(scope)}
      select count(*) as checked,
             count(*) filter (where accounts.balance <> coalesce(balance_after, base.balance)
               or entry_count <> coalesce(last.number, base.number)) as violations
      from accounts join base on base.account_id = accounts.id left join lateral (
        select balance_after, number from ledger_entries where account_id = accounts.id order by number desc limit 1
      ) as last on true`,
  },
  {
    invariant: 'the archives of each account follow each other without gaps',
    query: () => `
      select count(*) as checked, count(*) filter (where first_number <> coalesce(number_before, 0) + 1
               or balance_before <> coalesce(balance_then, 0)) as violations
      from (select first_number, balance_before, lag(last_number) over one as number_before,
                   lag(balance_after) over one as balance_then
            from ledger_archive_accounts window one as (partition by account_id order by last_number)) as walk`,
  },
  ofCounter(accountHeld),
  ofCounter(keyHeld),
  {
    invariant: 'no account holds less than nothing or more than its balance',
    query: () =>
      'select count(*) as checked, count(*) filter (where held < 0 or held > balance) as violations from accounts',
  },
  {
    invariant: 'no Generation is charged twice',
    query: (scope) =>
      scope.isFull
        ? `select count(*) as checked, count(*) filter (where charges > 1) as violations
           from (select count(*) as charges from ledger_entries where kind = 'charge' group by generation_id) as per_generation`
        : `${withBase(scope)}
           select count(*) as checked, count(*) filter (where exists (
             select 1 from ledger_entries as other
             where other.generation_id = entries.generation_id and other.kind = 'charge'
               and (other.account_id, other.number) <> (entries.account_id, entries.number))) as violations
           from entries where kind = 'charge'`,
  },
  {
    invariant: 'no charge exceeds its hold by more than what is tolerated: 1%, and a few tokens',
    query: (scope) => `${scope.isFull ? '' : withBase(scope)}
      select count(*) as checked, count(*) filter (where cost_total > hold * 1.01 + 17 * (
               coalesce(cost_input / nullif(input_tokens, 0), 0) + coalesce(cost_output / nullif(output_tokens, 0), 0))) as violations
      from generations ${scope.isFull ? '' : "join entries on entries.generation_id = generations.id and kind = 'charge'"}
      where cost_total is not null and hold is not null`,
  },
  ofCounter(keyOpenCount),
  ofCounter(limitHeld),
  {
    invariant: 'each charge has a usage record of the same amount, and each usage record a charge',
    query: (scope) =>
      scope.isFull
        ? `select count(*) as checked, count(*) filter (where amount is distinct from -cost
               and not (amount is null and ${isRefunded} and ${maybeArchived('id', scope)})) as violations
           from (select * from ledger_entries where kind = 'charge') as charges
           full join usage_records on usage_records.id = charges.generation_id`
        : `${withBase(scope)}
           select count(*) as checked, count(*) filter (where amount is distinct from -cost) as violations
           from (
             select amount, cost from entries left join usage_records on usage_records.id = generation_id
             where kind = 'charge'
             union all
             select null, cost from usage_records
             where id >= '${scope.sinceId}' and not (${isRefunded} and ${maybeArchived('id', scope)})
               and not exists (select 1 from ledger_entries where generation_id = usage_records.id and kind = 'charge')
           ) as charges`,
  },
  {
    invariant: 'each Generation with a cost has a charge of that amount',
    query: (scope) => `
      select count(*) as checked,
             count(*) filter (where ledger_entries.amount is distinct from -cost_total
               and not (ledger_entries.amount is null and ${maybeArchived('generations.id', scope)})) as violations
      from generations left join ledger_entries on generation_id = generations.id and kind = 'charge'
      where cost_total is not null and generations.id >= '${scope.sinceId}'`,
  },
  {
    invariant:
      'every charge that the gateway did not refund belongs to a finished Generation with a cost, while that is retained',
    query: (scope) => `${withBase(scope)}
      select count(*) as checked,
             count(*) filter (where generations.id is not null and (cost_total is null) = (refund.generation_id is null)) as violations
      from (select * from entries where kind = 'charge') as charge
      left join generations on generations.id = charge.generation_id
      left join ledger_entries as refund on refund.generation_id = charge.generation_id and refund.kind = 'refund'
        and refund.reference is null`,
  },
  {
    invariant: 'no Generation is both open and finished',
    query: () => `
      select (select count(*) from open_generations) as checked, count(*) as violations
      from open_generations join generations on generations.id = open_generations.id`,
  },
  {
    invariant: keyMonthSpent.invariant,
    query: (scope) => (scope.isFull ? ofCounter(keyMonthSpent).query(scope) : monthSpentSince(scope)),
  },
  {
    invariant: 'usage that was added up by day, model and key equals its usage records',
    query: ({ isFull }) => (isFull ? everyUsageDay : usageDaysSinceCheckpoint),
  },
  {
    invariant: 'statements that were added up by day equal their entries',
    query: everyStatementDay,
  },
  {
    invariant: 'requests that were added up by minute and hour equal their Generations, in a sample',
    query: () => sampledRequestSums,
  },
  {
    invariant: 'calls to providers that were added up by minute and hour equal their attempts, in a sample',
    query: () => sampledAttemptSums,
  },
  {
    invariant:
      'every entry, hold, usage record, write-off and uncharged attempt belongs to an account that exists',
    query: (scope) => `${withBase(scope)}
      select count(*) as checked, count(*) filter (where accounts.id is null) as violations
      from (select account_id from entries union all select account_id from open_generations
            union all select account_id from usage_records where id >= '${scope.sinceId}'
            union all select account_id from write_offs where generation_id >= '${scope.sinceId}'
            union all select account_id from uncharged_attempts where generation_id >= '${scope.sinceId}') as owned
      left join accounts on accounts.id = account_id`,
  },
  {
    invariant: 'every hold and usage record belongs to a key of its account and to a price list that exist',
    query: ({ sinceId }) => `
      select count(*) as checked, count(*) filter (where api_keys.id is null or price_lists.id is null) as violations
      from (select key_id, account_id, price_list_id from open_generations
            union all select key_id, account_id, price_list_id from usage_records where id >= '${sinceId}') as owned
      left join api_keys on api_keys.id = key_id and api_keys.account_id = owned.account_id
      left join price_lists on price_lists.id = price_list_id`,
  },
  ...movementInvariants,
  ...grantInvariants,
  ...paymentInvariants,
  ...meterInvariants,
];

/** A new audit does not read records that were stored more than a month late, so a sum that differs is computed again. */
function monthSpentSince({ sinceId, archivedBefore }: AuditScope): string {
  const sinceMonth = `date_trunc('month', to_timestamp(('x' || left(replace('${sinceId}', '-', ''), 12))::bit(48)::bigint / 1000.0), 'UTC')`;
  const sinceDay = `(${sinceMonth} at time zone 'UTC')::date`;
  return `
    select count(*) as checked, count(*) filter (where month_spent <> coalesce(total, 0) and month_spent <> coalesce((
             select sum(cost - refunded) from usage_records
             where usage_records.key_id = counted.key_id and usage_records.month = counted.month and refunded_at is null), 0)) as violations
    from api_key_meters as counted left join (
      select key_id, month, sum(cost - refunded) as total from usage_records
      where refunded_at is null and usage_records.month >= ${sinceDay}
        and id >= first_id_at(${sinceMonth} - interval '31 days')
      group by 1, 2) as used
    using (key_id, month)
    where month >= ${sinceDay} ${archivedBefore === null ? '' : `and month >= '${archivedBefore}'`}`;
}
