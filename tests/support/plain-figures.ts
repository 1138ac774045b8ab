/** The figures of requests and calls by plain SQL, from what is stored of each: none of the gateway's sums, views or functions. */
import type { SQL } from 'bun';
import type { AttemptFigures, RequestFigures, RequestRow } from '../../src/console/request-contract.ts';

type Fragment = SQL.Query<unknown>;

/** When a request arrived, in milliseconds: the first digits of its ID. */
const msOf = (id: string) => `('x' || left(replace(${id}::text, '-', ''), 12))::bit(48)::bigint`;

/** Requests that have ended, and those that were refused. A refusal is counted for a model only if there is one. */
export function requestsOf(sql: SQL, models: readonly string[]): Fragment {
  return sql`
    select ${sql.unsafe(msOf('id'))} as ms, id, account_id, key_id, model, case when attempt_count > 0 then provider end as provider,
           status, error_code, api, streaming, fallback, input_tokens, output_tokens, cost_total, latency_ms, time_to_first_token_ms
    from generations
    union all
    select ${sql.unsafe(msOf('id'))}, id, account_id, key_id, case when model = any (${sql.array([...models], 'TEXT')}) then model end,
           null, 'refused', code, api, null, null, null, null, null, null, null
    from refusals`;
}

export type Counted = Readonly<{
  from: string;
  to: string;
  /** Without it the whole range is one step. */
  stepSeconds?: number;
  /** A condition on the columns above. */
  where?: Fragment;
  /** A column. */
  by?: Fragment;
}>;

/** Where the buckets of durations end, in milliseconds. */
const bounds =
  'array[50, 80, 130, 210, 350, 560, 900, 1500, 2400, 3900, 6200, 10000, 16000, 26000, 43000, 70000, 110000, 180000, 300000]';

/** The shares of `taken` that are asked for, by step and value: the durations of a bucket are taken as spread over it evenly. */
const percentiles = (timed: string) => `
  bucketed as (
    select step, value, what, (select count(*)::int from unnest(${bounds}) as bound where bound <= taken) as bucket,
           count(*)::float8 as count
    from ${timed} group by step, value, what, bucket
  ), ranked as (
    select *, sum(count) over (partition by step, value, what order by bucket) as up_to,
           sum(count) over (partition by step, value, what) as total,
           coalesce((${bounds})[bucket], 0)::float8 as least, coalesce((${bounds})[bucket + 1], (${bounds})[bucket])::float8 as most
    from bucketed
  ), percentile as (
    select distinct on (step, value, what, share) step, value, what, share,
           floor(least + (most - least) * (share * total - (up_to - count)) / count + 0.5) as ms
    from ranked, unnest(array[0.5, 0.95]::float8[]) as share where up_to >= share * total
    order by step, value, what, share, bucket
  )`;

const percentile = (what: string, share: number) =>
  `(select ms from percentile where percentile.step = counts.step and percentile.value = counts.value and what = '${what}' and share = ${share})`;

export type Group<Figures> = Figures & Readonly<{ step: number; value: string }>;

/** By step and value; those without requests are missing. */
export async function plainFigures(
  sql: SQL,
  models: readonly string[],
  { from, to, stepSeconds, where = sql`true`, by = sql`null::text` }: Counted,
): Promise<Group<RequestFigures>[]> {
  const fromMs = Date.parse(from);
  const stepMs = stepSeconds === undefined ? Date.parse(to) - fromMs : stepSeconds * 1_000;
  const rows = await sql<Group<RequestFigures>[]>`
    with wanted as (
      select request.*, floor((ms - ${fromMs}::float8) / ${stepMs}::float8)::int as step, coalesce((${by})::text, '') as value
      from (${requestsOf(sql, models)}) as request
      where ms >= ${fromMs}::float8 and ms < ${Date.parse(to)}::float8 and (${where})
    ), timed as (
      select step, value, 'whole' as what, latency_ms as taken from wanted where status = 'completed'
      union all
      select step, value, 'first', time_to_first_token_ms from wanted
      where status = 'completed' and time_to_first_token_ms is not null
    ), ${sql.unsafe(percentiles('timed'))}, counts as (
      select step, value, count(*) filter (where status = 'completed')::int as completed,
             count(*) filter (where status = 'failed')::int as failed,
             count(*) filter (where status = 'cancelled')::int as cancelled,
             count(*) filter (where status = 'refused')::int as refused,
             coalesce(sum(input_tokens), 0)::int as input_tokens, coalesce(sum(output_tokens), 0)::int as output_tokens,
             coalesce(sum(cost_total), 0)::numeric(38,12)::text as cost
      from wanted group by step, value
    )
    select counts.*, ${sql.unsafe(percentile('whole', 0.5))} as duration_ms_p50, ${sql.unsafe(percentile('whole', 0.95))} as duration_ms_p95,
           ${sql.unsafe(percentile('first', 0.5))} as time_to_first_token_ms_p50,
           ${sql.unsafe(percentile('first', 0.95))} as time_to_first_token_ms_p95
    from counts order by step, value`;
  return rows.map((row) => ({ ...row }));
}

/** The same for the calls to providers. The columns of `where` and `by` are those of attempts, and the model. */
export async function plainAttempts(
  sql: SQL,
  { from, to, stepSeconds, where = sql`true`, by = sql`null::text` }: Counted,
): Promise<Group<AttemptFigures>[]> {
  const fromMs = Date.parse(from);
  const stepMs = stepSeconds === undefined ? Date.parse(to) - fromMs : stepSeconds * 1_000;
  const rows = await sql<Group<AttemptFigures>[]>`
    with wanted as (
      select call.*, floor((ms - ${fromMs}::float8) / ${stepMs}::float8)::int as step, coalesce((${by})::text, '') as value
      from (
        select attempts.*, model, ${sql.unsafe(msOf('generation_id'))} as ms
        from attempts join generations on generations.id = generation_id
      ) as call
      where ms >= ${fromMs}::float8 and ms < ${Date.parse(to)}::float8 and (${where})
    ), timed as (
      select step, value, 'whole' as what, round(extract(epoch from completed_at - started_at) * 1000) as taken
      from wanted where status = 'succeeded'
    ), ${sql.unsafe(percentiles('timed'))}, counts as (
      select step, value, count(*) filter (where status = 'succeeded')::int as succeeded,
             count(*) filter (where status = 'failed')::int as failed,
             count(*) filter (where status = 'failed' and error_code = 'provider_bad_request')::int as rejected,
             count(*) filter (where status = 'cancelled')::int as cancelled
      from wanted group by step, value
    )
    select counts.*, ${sql.unsafe(percentile('whole', 0.5))} as duration_ms_p50, ${sql.unsafe(percentile('whole', 0.95))} as duration_ms_p95
    from counts order by step, value`;
  return rows.map((row) => ({ ...row }));
}

export const noRequests: RequestFigures = {
  completed: 0,
  failed: 0,
  cancelled: 0,
  refused: 0,
  input_tokens: 0,
  output_tokens: 0,
  cost: '0.000000000000',
  duration_ms_p50: null,
  duration_ms_p95: null,
  time_to_first_token_ms_p50: null,
  time_to_first_token_ms_p95: null,
};

export const noCalls: AttemptFigures = {
  succeeded: 0,
  failed: 0,
  rejected: 0,
  cancelled: 0,
  duration_ms_p50: null,
  duration_ms_p95: null,
};

/** One for each step, in order. */
export function byStep<Figures>(
  groups: readonly Group<Figures>[],
  count: number,
  nothing: NoInfer<Figures>,
): Figures[] {
  const found = new Map(groups.map(({ step, value: _value, ...figures }) => [step, figures as Figures]));
  return Array.from({ length: count }, (_, step) => found.get(step) ?? nothing);
}

/** The period of the same length before. */
export function before({ from, to }: Readonly<{ from: string; to: string }>) {
  const lengthMs = Date.parse(to) - Date.parse(from);
  return { from: new Date(Date.parse(from) - lengthMs).toISOString(), to: from };
}

export const countOf = ({ completed, failed, cancelled, refused }: RequestFigures) =>
  completed + failed + cancelled + refused;

/** As the list has them: the newest first. */
export async function plainRows(sql: SQL, where: SQL.Query<unknown>): Promise<RequestRow[]> {
  const rows = await sql<(Omit<RequestRow, 'at'> & Readonly<{ ms: number }>)[]>`
    with asked as (
      select id, account_id, key_id, model, case when attempt_count > 0 then provider end as provider, status, error_code, api,
             streaming, fallback, finish_reason, input_tokens, output_tokens, cache_read_tokens, units, unit, cost_total, latency_ms, time_to_first_token_ms
      from generations
      union all
      select id, account_id, key_id, model, null, 'refused', code, api,
             null, null, null, null, null, null, null, null, null, null, null
      from refusals
    )
    select 'req_' || replace(asked.id::text, '-', '') as id, (('x' || left(replace(asked.id::text, '-', ''), 12))::bit(48)::bigint)::float8 as ms,
           status, api, model, json_build_object('id', key_id, 'name', api_keys.name) as key, asked.provider,
           nullif((select provider from attempts where generation_id = asked.id and index = 1), asked.provider) as fallback_from,
           streaming as streamed, error_code, finish_reason,
           case when input_tokens is not null then json_build_object('input_tokens', input_tokens, 'output_tokens', output_tokens,
             'cache_read_tokens', coalesce(cache_read_tokens, 0), 'units', units, 'unit', unit) end as usage,
           cost_total::text as cost, latency_ms as duration_ms, time_to_first_token_ms,
           (select json_build_object('end_user', max(label) filter (where kind = 'end_user'), 'session', max(label) filter (where kind = 'session'),
              'tags', coalesce(json_object_agg(split_part(label, '=', 1), split_part(label, '=', 2)) filter (where kind = 'tag'), '{}'))
            from generation_attributions where generation_id = asked.id having count(*) > 0) as attribution
    from asked join api_keys on api_keys.id = key_id where ${where} order by asked.id desc`;
  return rows.map(({ ms, ...row }) => ({ ...row, at: new Date(ms).toISOString() }));
}

/** The columns of a condition are those of requests, not of their keys. */
export function listedBy(sql: SQL, where: SQL.Query<unknown>): SQL.Query<unknown> {
  return sql`asked.id in (select id from asked where ${where})`;
}
