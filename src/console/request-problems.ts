/** What went wrong with the requests of an account, by error code, and where most of it comes from. */
import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import { lookUp } from '../http/lookup.ts';
import { readQuery } from '../http/query.ts';
import { errorsQuery, readProgress } from '../rollups/figures.ts';
import { inOneStep, type Span, stepsOf } from '../rollups/range.ts';
import { type Caller, type Found, readableAccount } from './access.ts';
import { inSnapshot } from './figures-snapshot.ts';
import type { AccountHandler, Routes } from './guard.ts';
import type { RequestProblem, RequestProblems } from './request-contract.ts';
import { parseSpan } from './request-filter.ts';

const failure = 'usage_lookup_failed';
const maxProblems = 20;
/** Of those that are stored, the newest so many are looked at for what sums do not have. */
const maxLookedAt = 1_000;

export function requestProblemsPage({ reads }: Readonly<{ reads: () => SQL }>): Routes<AccountHandler> {
  return {
    '/requests/problems': {
      GET: async (request, { caller }) => {
        const span = parseSpan(readQuery(request.url, ['from', 'to']), Date.now());
        const problems = await lookUp(failure, () => findProblems(reads(), caller, span));
        return Response.json(problems satisfies RequestProblems);
      },
    },
  };
}

type Row = Omit<RequestProblem, 'last_at'> & Readonly<{ last_ms: number | null }>;

async function findProblems(sql: SQL, caller: Caller, span: Span): Promise<RequestProblems> {
  const { fromMs, toMs } = stepsOf(span, Date.now());
  const steps = inOneStep({ fromMs, toMs });
  const { accountId } = caller;
  const scope = { accountId, keyId: null };
  return await inSnapshot(sql, accountId, async (transaction) => {
    const progress = await readProgress(transaction, steps);
    const inRange = transaction`id >= first_id_at(to_timestamp(${fromMs}::float8 / 1000))
      and id < first_id_at(to_timestamp(${toMs}::float8 / 1000))`;
    const rows = await transaction<Found<Row, 'code'>[]>`
      select problem.* from ${readableAccount(transaction, caller)} as readable left join lateral (
        -- Not from the sources, because in a flood of refusals not every key is counted by itself.
        with total as materialized (
          select value as code, failed, refused
          from (${errorsQuery(transaction, scope, 'error_code', steps, progress)}) as counted
          where value <> '' and failed + refused > 0
          order by failed + refused desc, value limit ${maxProblems}
        ), source as materialized (
          select value::jsonb ->> 0 as code, value::jsonb ->> 1 as key_id, value::jsonb ->> 2 as model, failed, refused
          from (${errorsQuery(transaction, scope, 'source', steps, progress)}) as counted
        ), newest_failed as materialized (
          select id, error_code from counted_generations
          where account_id = ${accountId} and status = 'failed' and ${inRange} order by id desc limit ${maxLookedAt}
        )
        select code, failed, refused,
          (select jsonb_build_object('id', key_id, 'requests', requests,
                                     'name', (select name from api_keys where id = key_id::uuid))
           from (${mostOf(transaction, 'key_id')}) as most) as key,
          (select jsonb_build_object('name', model, 'requests', requests)
           from (${mostOf(transaction, 'model')}) as most) as model,
          (select param from (
             select param from refusals where account_id = ${accountId} and refusals.code = total.code and ${inRange}
             order by id desc limit ${maxLookedAt}) as newest
           where param is not null group by param order by count(*) desc, param limit 1) as param,
          greatest(
            (select id_ms(id) from refusals where account_id = ${accountId} and refusals.code = total.code and ${inRange}
             order by id desc limit 1),
            (select max(id_ms(id)) from newest_failed where error_code = total.code))::float8 as last_ms
        from total
      ) as problem on true
      order by failed + refused desc, code`;
    if (rows.length === 0) throw new ApiError('account_not_found');
    const found = rows.filter((row): row is Row => row.code !== null);
    return {
      from: new Date(fromMs).toISOString(),
      to: new Date(toMs).toISOString(),
      data: found.map(({ last_ms: lastMs, ...problem }) => ({
        ...problem,
        last_at: lastMs === null ? null : new Date(lastMs).toISOString(),
      })),
    };
  });
}

/** The key or model with the most requests of a code. Requests may be for no model. */
function mostOf(sql: SQL, column: 'key_id' | 'model') {
  const value = column === 'key_id' ? sql`key_id` : sql`model`;
  return sql`
    select ${value}, sum(failed + refused) as requests from source
    where source.code = total.code and ${value} <> '' group by 1 order by 2 desc, 1 limit 1`;
}
