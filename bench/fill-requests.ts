/**
 * Requests of one account that were never made: every outcome, over the last days, with their attempts, labels and refusals, and
 * added up as a gateway does it. Nothing is charged.
 */
import type { SQL } from 'bun';
import { createAccount } from '../src/accounts/account-store.ts';
import { createKey } from '../src/keys/key-store.ts';
import { newId } from '../src/lib/ids.ts';
import { dayMs, minuteMs } from '../src/lib/time-units.ts';
import { type NewRefusal, type RefusalCount, storeRefusals } from '../src/requests/refusal-store.ts';
import { RollUp } from '../src/rollups/roll-up.ts';
import { models } from './scenarios.ts';

/** Gateways keep refusals for a week. */
const refusalDays = 7;
const refusalsAtOnce = 5_000;
const refusalCodes = ['insufficient_balance', 'invalid_parameter', 'model_not_found', 'rate_limit_exceeded'];

export type FilledAccount = Readonly<{ accountId: string; keyId: string }>;

/** Another twentieth of them is refused. */
export async function fillRequests(
  sql: SQL,
  { requests, keys, days }: Readonly<{ requests: number; keys: number; days: number }>,
): Promise<FilledAccount> {
  const { id: accountId } = await createAccount(sql, 'Bench', 10n ** 15n);
  const keyIds: string[] = [];
  while (keyIds.length < keys) keyIds.push(await addKey(sql, accountId, keyIds.length));
  await sql`select create_partitions(current_date - ${days + 1}::int, current_date + 31)`;
  for (let day = days; day > 0; day -= 1)
    await fillDay(sql, { accountId, keyIds, day, count: Math.ceil(requests / days) });
  await refuse(sql, accountId, keyIds, Math.ceil(requests / 20));
  await sql`vacuum (analyze) generations, attempts, generation_attributions, refusals`;
  await addUp(sql);
  await sql`vacuum (analyze) request_minutes, request_hours, request_days, attempt_minutes, attempt_hours`;
  await sql`checkpoint`;
  return { accountId, keyId: keyIds[0] ?? '' };
}

async function addKey(sql: SQL, accountId: string, number: number): Promise<string> {
  const key = await createKey(sql, {
    accountId,
    name: `Key ${number}`,
    maxConcurrent: 100,
    requestsPerMinute: 1_000,
    monthlyLimit: null,
    allowedModels: null,
    expiresAt: null,
  });
  if (key === null) throw new Error('The account is gone.');
  return key.id;
}

type Day = Readonly<{ accountId: string; keyIds: readonly string[]; day: number; count: number }>;

/** Of a hundred requests four failed, two were cancelled, three fell back, and one of ten has labels. */
async function fillDay(sql: SQL, { accountId, keyIds, day, count }: Day): Promise<void> {
  const ids = sql.array([...keyIds], 'uuid');
  const names = sql.array([models.json, models.fast, models.paced, models.lateJson], 'text');
  await sql.begin(async (transaction) => {
    await transaction`set local synchronous_commit = off`;
    // Without the marks of late Generations: everything is added up afterwards.
    await transaction`set local session_replication_role = replica`;
    await transaction`
      with asked as materialized (
        select overlay(overlay(gen_random_uuid()::text placing left(first_id_at(at)::text, 13) from 1) placing '7' from 15)::uuid as id, at,
               (${ids}::uuid[])[1 + floor(power(random(), 3) * ${keyIds.length}::int)::int] as key_id,
               (${names}::text[])[1 + floor(random() * 4)::int] as model,
               case when outcome < 0.94 then 'completed' when outcome < 0.98 then 'failed' else 'cancelled' end as status,
               (array['provider_error', 'provider_timeout', 'provider_rate_limit'])[1 + floor(random() * 3)::int] as code,
               exp(5 + 1.5 * random() + 1.5 * random())::int as latency_ms, random() < 0.03 as fallback,
               (100 + 2000 * random())::bigint as input, (20 + 500 * random())::bigint as output
        from generate_series(1, ${count}::int),
             lateral (select date_trunc('hour', now() - interval '5 minutes', 'UTC') - make_interval(days => ${day}::int)
                             + random() * interval '1 day' as at, random() as outcome
                      where generate_series is not null) as moment
      ), tried as (
        insert into attempts (generation_id, index, provider, status, started_at, completed_at, upstream_status, error_code)
        select id, 1, case when fallback then 'Away' else 'Upstream' end,
               case when fallback or status = 'failed' then 'failed' else 'succeeded' end, at, at,
               case when fallback or status = 'failed' then 503 else 200 end,
               case when fallback or status = 'failed' then code end
        from asked
      ), tried_again as (
        insert into attempts (generation_id, index, provider, status, started_at, completed_at, upstream_status)
        select id, 2, 'Upstream', 'succeeded', at, at, 200 from asked where fallback
      ), labelled as (
        insert into generation_attributions (generation_id, account_id, kind, label)
        select id, ${accountId}::uuid, kind, label
        from asked, lateral (values ('end_user', 'user-' || floor(random() * 2000)), ('tag', 'team=' || floor(random() * 20)),
                                    ('session', 'run-' || floor(random() * 20000))) as labels (kind, label)
        where get_byte(uuid_send(id), 15) < 26
      )
      insert into generations (id, account_id, key_id, workload, model, provider, status, streaming, fallback, attempt_count, hold,
        input_tokens, output_tokens, units, unit, cost_input, cost_output, cost_total, latency_ms, time_to_first_token_ms,
        error_code, api, created_at, completed_at)
      select id, ${accountId}::uuid, key_id, 'chat', model, 'Upstream', status, get_byte(uuid_send(id), 14) < 100, fallback,
             case when fallback then 2 else 1 end, 0.01, input, output, input + output, 'tokens', input * 0.000001,
             output * 0.000002, input * 0.000001 + output * 0.000002, latency_ms, latency_ms / 3,
             case when status = 'failed' then code end,
             case when get_byte(uuid_send(id), 13) < 200 then 'chat_completions' else 'messages' end,
             at, at + latency_ms * interval '1 millisecond'
      from asked`;
  });
}

/** As a gateway stores them. */
async function refuse(sql: SQL, accountId: string, keyIds: readonly string[], wanted: number): Promise<void> {
  const nodeId = newId();
  for (let number = 1; (number - 1) * refusalsAtOnce < wanted; number += 1) {
    const rows: NewRefusal[] = [];
    const counts = new Map<string, RefusalCount>();
    while (rows.length < refusalsAtOnce && (number - 1) * refusalsAtOnce + rows.length < wanted) {
      const atMs = Math.floor(Date.now() - Math.random() * refusalDays * dayMs);
      const code = pick(refusalCodes);
      // Few keys are refused often.
      const row = refusalAt(atMs, accountId, pick(keyIds.slice(0, 20)), code);
      rows.push(row);
      const at = new Date(atMs - (atMs % minuteMs)).toISOString();
      const known = counts.get(`${at} ${row.key_id} ${code}`);
      if (known !== undefined) known.count += 1;
      else
        counts.set(`${at} ${row.key_id} ${code}`, {
          at,
          account_id: accountId,
          key_id: row.key_id,
          model: models.json,
          error_code: code,
          count: 1,
        });
    }
    await storeRefusals(sql, nodeId, number, rows, [...counts.values()]);
  }
}

function refusalAt(atMs: number, accountId: string, keyId: string, code: string): NewRefusal {
  return {
    id: Bun.randomUUIDv7('hex', atMs),
    account_id: accountId,
    key_id: keyId,
    api: 'chat_completions',
    model: models.json,
    code,
    http_status: code === 'insufficient_balance' ? 402 : 400,
    param: null,
    short_of: code === 'insufficient_balance' ? 'balance' : null,
    needed: code === 'insufficient_balance' ? '0.03' : null,
    available: code === 'insufficient_balance' ? '0.01' : null,
    fitting_max_tokens: null,
    retry_after_seconds: null,
    labels: [],
  };
}

function pick<Value>(values: readonly Value[]): Value {
  return values[Math.floor(Math.random() * values.length)] as Value;
}

/** As after an upgrade from a version without sums. */
async function addUp(sql: SQL): Promise<void> {
  await sql`
    update rollup_progress set minutes_from = filled_to, hours_from = filled_to
    from (select date_trunc('hour', now() - interval '5 minutes', 'UTC') as filled_to) as fill`;
  const rollUp = new RollUp(sql, { patienceMs: 60_000 });
  for (;;) {
    await rollUp.run();
    const [row] = await sql<[{ is_done: boolean }]>`
      select hours_from = '-infinity' and rolled_to > now() - interval '3 minutes' as is_done from rollup_progress`;
    if (row.is_done) return;
    await Bun.sleep(100);
  }
}
