/**
 * An audit that is recorded: one at a time in a deployment, with its progress and its result in a row. A sound one leaves
 * a checkpoint for each account, from which the next continues. The lock belongs to the connection of the audit, so it is
 * released when the process dies.
 */
import type { ReservedSQL, SQL } from 'bun';
import { newId } from '../lib/ids.ts';
import { checkInvariants, type InvariantResult, invariantCount, readScope } from './audit.ts';
import { auditLock } from './lock.ts';

export type AuditOptions = Readonly<{
  isFull: boolean;
  /** Who asked for it in the dashboard. */
  operatorId: string | null;
  onStep?: (done: number, next: string) => void;
}>;

export type AuditTotals = {
  balance: string;
  held: string;
  written_off: string;
  /** Write-offs whose amount nobody knows, because the provider reported no usage. Older audits did not count them. */
  unknown_write_offs?: number;
  not_believed: string;
};

export type AuditResult = Readonly<{
  id: string;
  /** The start of the audit whose checkpoints this one continued from; null when it checked everything. */
  since: Date | null;
  findings: readonly InvariantResult[];
  totals: AuditTotals;
  isSound: boolean;
}>;

/** An audit that has begun: `result` follows. `stop` ends its connection, and with it the audit. */
export type RunningAudit = Readonly<{ id: string; result: Promise<AuditResult>; stop: () => Promise<void> }>;

/**
 * Begins an audit on a dedicated connection; null when another is running. `sql` records the progress, which the
 * transaction of the audit could not make visible.
 */
export async function startAudit(
  sql: SQL,
  openDedicated: () => SQL,
  options: AuditOptions,
): Promise<RunningAudit | null> {
  const dedicated = openDedicated();
  let reserved: ReservedSQL | null = null;
  // Closing would wait for a connection that is still reserved.
  const close = async () => {
    await reserved?.release();
    await dedicated.close({ timeout: 1 });
  };
  try {
    const connection = await dedicated.reserve();
    reserved = connection;
    const [{ is_mine: isMine }] = await connection<[{ is_mine: boolean }]>`
      select pg_try_advisory_lock(${auditLock}) as is_mine`;
    if (!isMine) {
      await close();
      return null;
    }
    const since = options.isFull ? null : await findCheckpointTime(connection);
    const id = newId();
    await recordStart(sql, id, since, options.operatorId);
    const run = async () => {
      try {
        return await carryOut(sql, connection, id, since, options);
      } finally {
        await close();
      }
    };
    const result = run();
    return {
      id,
      result,
      stop: async () => {
        await dedicated.close({ timeout: 0 });
        await result.catch(() => undefined);
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

type Checkpoint = { id: string; started_at: Date };

/** Audits run one at a time, so the current checkpoints are those of the last sound one. */
async function findCheckpointTime(connection: ReservedSQL): Promise<Checkpoint | null> {
  const [last] = await connection<Checkpoint[]>`
    select id, started_at from ledger_audits where outcome = 'sound' order by started_at desc limit 1`;
  return last ?? null;
}

async function recordStart(
  sql: SQL,
  id: string,
  since: Checkpoint | null,
  operatorId: string | null,
): Promise<void> {
  // This process has the lock, so no other audit is running.
  await sql`update ledger_audits set outcome = 'failed', finished_at = now() where outcome is null`;
  await sql`
    insert into ledger_audits (id, base_audit_id, operator_id, step_count)
    values (${id}, ${since?.id ?? null}, ${operatorId}, ${invariantCount})`;
}

async function carryOut(
  sql: SQL,
  connection: ReservedSQL,
  id: string,
  since: Checkpoint | null,
  { onStep }: AuditOptions,
): Promise<AuditResult> {
  try {
    await connection.unsafe('begin isolation level repeatable read');
    const scope = await readScope(connection, since?.started_at ?? null);
    const findings = await checkInvariants(connection, scope, (done, next) => {
      onStep?.(done, next);
      // The audit continues even if its progress cannot be recorded.
      sql`update ledger_audits set steps_done = ${done} where id = ${id} and outcome is null`.catch(
        () => undefined,
      );
    });
    const totals = await findTotals(connection);
    const isSound = findings.every(({ violations }) => violations === 0);
    if (isSound) await storeCheckpoints(connection, id);
    await connection.unsafe('commit');
    onStep?.(findings.length, '');
    await recordOutcome(connection, id, isSound, findings, totals);
    return { id, since: since?.started_at ?? null, findings, totals, isSound };
  } catch (error) {
    await sql`
      update ledger_audits set outcome = 'failed', finished_at = clock_timestamp()
      where id = ${id} and outcome is null`.catch(() => undefined);
    throw error;
  }
}

/** The lock is released by the commit that makes the outcome visible: no earlier, and hardly later. */
async function recordOutcome(
  connection: ReservedSQL,
  id: string,
  isSound: boolean,
  findings: readonly InvariantResult[],
  totals: AuditTotals,
): Promise<void> {
  await connection.unsafe('begin');
  await connection`select pg_advisory_xact_lock(${auditLock})`;
  await connection`
    update ledger_audits
    set outcome = ${isSound ? 'sound' : 'broken'}, finished_at = clock_timestamp(), steps_done = step_count,
        findings = ${JSON.stringify(findings)}::text::jsonb, totals = ${JSON.stringify(totals)}::text::jsonb
    where id = ${id}`;
  await connection`select pg_advisory_unlock(${auditLock})`;
  await connection.unsafe('commit');
}

async function findTotals(connection: ReservedSQL): Promise<AuditTotals> {
  const [totals] = await connection<[AuditTotals]>`
    select coalesce(sum(balance), 0)::numeric(38,12) as balance, coalesce(sum(held), 0)::numeric(38,12) as held,
           coalesce((select sum(amount) from write_offs where reason <> 'implausible_usage'), 0)::numeric(38,12) as written_off,
           (select count(*)::int from write_offs where reason <> 'implausible_usage' and amount is null) as unknown_write_offs,
           coalesce((select sum(amount) from write_offs where reason = 'implausible_usage'), 0)::numeric(38,12) as not_believed
    from accounts`;
  return totals;
}

/** The snapshot of the audit has every entry up to an account's number of entries. Only what has changed is written. */
async function storeCheckpoints(connection: ReservedSQL, auditId: string): Promise<void> {
  await connection`
    insert into ledger_checkpoints as checkpoint (account_id, audit_id, entry_number, balance, usage_entry_number,
      requests, input_tokens, output_tokens, images, cost, usage_metered_number, cache_read_tokens, cache_write_tokens,
      cache_saved, provider_cost, drawn_number)
    select accounts.id, ${auditId}::uuid, entry_count, accounts.balance, coalesce(usage_progress.entry_number, 0),
           used.requests, used.input_tokens, used.output_tokens, used.images, used.cost,
           case when usage_progress.account_id is null then 0 else margin_entry_number end, used.cache_read_tokens,
           used.cache_write_tokens, used.cache_saved,
           (select coalesce(sum(cost), 0) from margin_days where margin_days.account_id = accounts.id),
           grant_progress.entry_number
    from accounts
    left join ledger_checkpoints as old on old.account_id = accounts.id
    left join usage_progress on usage_progress.account_id = accounts.id
    left join grant_progress on grant_progress.account_id = accounts.id
    cross join lateral (
      select coalesce(sum(requests), 0) as requests, coalesce(sum(input_tokens), 0) as input_tokens,
             coalesce(sum(output_tokens), 0) as output_tokens, coalesce(sum(images), 0) as images,
             coalesce(sum(cost), 0) as cost, coalesce(sum(cache_read_tokens), 0) as cache_read_tokens,
             coalesce(sum(cache_write_tokens), 0) as cache_write_tokens, coalesce(sum(cache_saved), 0) as cache_saved
      from usage_days where usage_days.account_id = accounts.id
    ) as used
    where old.entry_number is distinct from entry_count
      or old.usage_entry_number is distinct from coalesce(usage_progress.entry_number, 0)
      or old.drawn_number is distinct from grant_progress.entry_number
    on conflict (account_id) do update
    set audit_id = excluded.audit_id, entry_number = excluded.entry_number, balance = excluded.balance,
        usage_entry_number = excluded.usage_entry_number, requests = excluded.requests,
        input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens, images = excluded.images,
        cost = excluded.cost, usage_metered_number = excluded.usage_metered_number,
        cache_read_tokens = excluded.cache_read_tokens, cache_write_tokens = excluded.cache_write_tokens,
        cache_saved = excluded.cache_saved, provider_cost = excluded.provider_cost,
        drawn_number = excluded.drawn_number`;
}

/** One row of ledger_audits. An audit whose process died is `failed`. */
export type RecordedAudit = Readonly<{
  id: string;
  state: 'running' | 'sound' | 'broken' | 'failed';
  isFull: boolean;
  startedAt: Date;
  finishedAt: Date | null;
  stepsDone: number;
  stepCount: number;
  findings: readonly InvariantResult[];
  totals: AuditTotals | null;
}>;

type AuditRow = {
  id: string;
  outcome: 'sound' | 'broken' | 'failed' | null;
  is_running: boolean;
  is_full: boolean;
  started_at: Date;
  finished_at: Date | null;
  steps_done: number;
  step_count: number;
  findings: InvariantResult[] | null;
  totals: AuditTotals | null;
};

/** The newest audits, the newest first. One without an outcome is running only while the lock is held. */
export async function findAudits(sql: SQL, limit: number): Promise<RecordedAudit[]> {
  const rows = await readAudits(sql, limit);
  // It may have ended between reading its row and looking for the lock. Its outcome is visible before the lock is gone.
  const hasEnded = rows.some(({ outcome, is_running: isRunning }) => outcome === null && !isRunning);
  return (hasEnded ? await readAudits(sql, limit) : rows).map((row) => ({
    id: row.id,
    state: row.is_running ? 'running' : (row.outcome ?? 'failed'),
    isFull: row.is_full,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    stepsDone: row.steps_done,
    stepCount: row.step_count,
    findings: row.findings ?? [],
    totals: row.totals,
  }));
}

async function readAudits(sql: SQL, limit: number): Promise<AuditRow[]> {
  return await sql<AuditRow[]>`
    select id, outcome, base_audit_id is null as is_full, started_at, finished_at, steps_done, step_count, findings, totals,
           outcome is null and exists (
             select 1 from pg_locks
             where locktype = 'advisory' and granted and objsubid = 1
               and database = (select oid from pg_database where datname = current_database())
               and (classid::bigint << 32) | objid::bigint = ${auditLock}) as is_running
    from ledger_audits order by started_at desc limit ${limit}`;
}
