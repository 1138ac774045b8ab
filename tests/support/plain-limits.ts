/** What is used and held of limits by plain SQL, from entries and requests: none of the gateway's counters. */
import type { SQL } from 'bun';
import type { Limit } from '../../src/console/contract.ts';

export type PlainLimit = Pick<
  Limit,
  'id' | 'scope' | 'kind' | 'key_id' | 'key_name' | 'end_user' | 'set_by' | 'amount' | 'used' | 'held'
> &
  Readonly<{ increase: string | null }>;

/** The newest first. Nothing is open for an end user. */
async function plainLimits(sql: SQL, account: string): Promise<PlainLimit[]> {
  const rows = await sql<PlainLimit[]>`
    select id, scope, kind, key_id, (select name from api_keys where api_keys.id = key_id) as key_name, end_user,
           case when is_operators then 'operator' else 'account' end as set_by, trim_scale(amount)::text as amount,
           case when increase_until > now() then trim_scale(increase)::text end as increase,
           case when scope <> 'each_end_user' then trim_scale(case kind
             when 'requests_per_minute' then began when 'concurrent_requests' then 0 else spent end)::text end as used,
           case when scope <> 'each_end_user' then trim_scale(case
             when kind = 'concurrent_requests' then open when kind like 'spend%' and end_user is null then hold else 0 end)::text end as held
    from limits
    cross join lateral (
      select coalesce(-sum(entry.amount), 0) as spent
      from ledger_entries as entry join usage_records as used on used.id = entry.generation_id
      where entry.account_id = limits.account_id and (limits.key_id is null or used.key_id = limits.key_id)
        and (limits.end_user is null or exists (select from generation_attributions
          where generation_attributions.generation_id = used.id and generation_attributions.kind = 'end_user' and label = limits.end_user))
        and billed_at at time zone 'UTC' >= case limits.kind when 'spend_per_day' then date_trunc('day', now() at time zone 'UTC')
          when 'spend_per_week' then date_trunc('week', now() at time zone 'UTC') else date_trunc('month', now() at time zone 'UTC') end
    ) as charged
    cross join lateral (
      select count(*) as open, coalesce(sum(hold), 0) as hold from open_generations
      where open_generations.account_id = limits.account_id and (limits.key_id is null or open_generations.key_id = limits.key_id)
    ) as opened
    cross join lateral (
      select count(*) as began from (${begunBy(sql, account)}) as request where began_at >= date_trunc('minute', now())
    ) as begun
    where account_id = ${account} order by id desc`;
  return rows.map((row) => ({ ...row }));
}

/** When requests of an account began, by the clock: what their IDs say is earlier for some. */
const begunBy = (sql: SQL, account: string) => sql`
  select started_at as began_at from attempts join generations on generations.id = generation_id
  where index = 1 and account_id = ${account}
  union all
  select to_timestamp((attempts -> 0 ->> 'startedAtMs')::float8 / 1000) from open_generations where account_id = ${account}`;

/** Those whose use is certain: a request that began as the minute did may count towards either. */
export async function certainLimits(sql: SQL, account: string): Promise<PlainLimit[]> {
  const [{ is_unsure: isUnsure }] = await sql<[{ is_unsure: boolean }]>`
    select exists (select from (${begunBy(sql, account)}) as request
      where abs(extract(epoch from began_at - date_trunc('minute', now()))) < 0.25) as is_unsure`;
  const limits = await plainLimits(sql, account);
  return limits.filter(({ kind }) => !isUnsure || kind !== 'requests_per_minute');
}
