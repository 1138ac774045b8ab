/**
 * Collects what a batch of decisions changes and writes all of it in one statement. Rows travel as JSON, one text for
 * each table, which keeps the number of parameters small whatever the size of the batch.
 */
import type { SQL } from 'bun';
import { formatMoney } from '../lib/money.ts';
import type { AccountState, MeterState, SettlementDecision } from './decide.ts';
import type { Attempt, Hold, Settlement } from './operations.ts';

export class Effects {
  readonly #accountIds = new Set<string>();
  readonly #keyIds = new Set<string>();
  readonly #opened: object[] = [];
  readonly #closed: object[] = [];
  readonly #attempts: object[] = [];
  readonly #charges: object[] = [];
  readonly #writeOffs: object[] = [];

  hold({ generation, nodeId, provider, amount, attempts }: Hold): void {
    this.#touch(generation);
    this.#opened.push({
      id: generation.id,
      account_id: generation.accountId,
      key_id: generation.keyId,
      node_id: nodeId,
      workload: generation.workload,
      model: generation.model,
      provider,
      streaming: generation.streaming,
      hold: formatMoney(amount),
      price_list_id: generation.priceListId,
      attempts,
      created_ms: generation.createdAtMs,
    });
  }

  settle(settlement: Settlement, { account, charge, shortfall }: SettlementDecision): void {
    const { generation, usage, attempts } = settlement;
    const isShort = shortfall > 0n;
    this.#touch(generation);
    this.#closed.push({
      id: generation.id,
      account_id: generation.accountId,
      key_id: generation.keyId,
      workload: generation.workload,
      model: generation.model,
      provider: settlement.provider,
      status: isShort ? 'failed' : settlement.status,
      streaming: generation.streaming,
      fallback: attempts.length > 1,
      attempt_count: attempts.length,
      price_list_id: generation.priceListId,
      input_tokens: usage?.inputTokens,
      output_tokens: usage?.outputTokens,
      units: usage?.units,
      unit: usage?.unit,
      tier: usage?.tier,
      cost_input: charge && formatMoney(charge.input),
      cost_output: charge && formatMoney(charge.output),
      cost_total: charge && formatMoney(charge.total),
      latency_ms: settlement.latencyMs,
      time_to_first_token_ms: settlement.timeToFirstTokenMs,
      error_code: isShort ? 'insufficient_balance' : settlement.errorCode,
      created_ms: generation.createdAtMs,
      completed_ms: settlement.completedAtMs,
    });
    for (const attempt of attempts) this.#attempts.push(attemptRow(generation.id, attempt));
    if (charge !== null) {
      this.#charges.push({
        generation_id: generation.id,
        account_id: generation.accountId,
        number: account.entryCount.toString(),
        amount: formatMoney(-charge.total),
        balance_after: formatMoney(account.balance),
      });
    }
    const reason = isShort ? 'insufficient_balance' : settlement.loss;
    if (reason !== null) {
      this.#writeOffs.push({
        generation_id: generation.id,
        account_id: generation.accountId,
        reason,
        amount: isShort ? formatMoney(shortfall) : null,
      });
    }
  }

  async write(
    connection: SQL,
    accounts: ReadonlyMap<string, AccountState>,
    meters: ReadonlyMap<string, MeterState>,
    month: string,
  ): Promise<void> {
    if (this.#accountIds.size === 0) return;
    const accountRows = [...this.#accountIds].map((id) => accountRow(id, accounts.get(id)));
    const meterRows = [...this.#keyIds].map((id) => meterRow(id, meters.get(id)));
    await connection`
      with opened as (
        insert into open_generations (id, account_id, key_id, node_id, workload, model, provider, streaming, hold, price_list_id, attempts, created_at)
        select id, account_id, key_id, node_id, workload, model, provider, streaming, hold, price_list_id, attempts, to_timestamp(created_ms / 1000)
        from json_to_recordset(${JSON.stringify(this.#opened)}::text::json) as row (
          id uuid, account_id uuid, key_id uuid, node_id uuid, workload text, model text, provider text, streaming boolean,
          hold numeric, price_list_id integer, attempts jsonb, created_ms float8)
      ), settled as (
        select * from json_to_recordset(${JSON.stringify(this.#closed)}::text::json) as row (
          id uuid, account_id uuid, key_id uuid, workload text, model text, provider text, status text, streaming boolean,
          fallback boolean, attempt_count smallint, price_list_id integer, input_tokens bigint, output_tokens bigint,
          units bigint, unit text, tier text, cost_input numeric, cost_output numeric, cost_total numeric, latency_ms integer,
          time_to_first_token_ms integer, error_code text, created_ms float8, completed_ms float8)
      ), no_longer_open as (
        delete from open_generations where id in (select id from settled)
      ), closed as (
        insert into generations (id, account_id, key_id, workload, model, provider, status, streaming, fallback, attempt_count,
          price_list_id, input_tokens, output_tokens, units, unit, tier, cost_input, cost_output, cost_total, latency_ms,
          time_to_first_token_ms, error_code, created_at, completed_at)
        select id, account_id, key_id, workload, model, provider, status, streaming, fallback, attempt_count,
          price_list_id, input_tokens, output_tokens, units, unit, tier, cost_input, cost_output, cost_total, latency_ms,
          time_to_first_token_ms, error_code, to_timestamp(created_ms / 1000), to_timestamp(completed_ms / 1000)
        from settled
      ), used as (
        insert into usage_records (id, account_id, key_id, model, input_tokens, output_tokens, units, unit, tier, cost, price_list_id, billed_at)
        select id, account_id, key_id, model, input_tokens, output_tokens, units, unit, tier, cost_total, price_list_id, to_timestamp(completed_ms / 1000)
        from settled where cost_total is not null
      ), charged as (
        insert into ledger_entries (account_id, number, kind, amount, balance_after, generation_id)
        select account_id, number, 'charge', amount, balance_after, generation_id
        from json_to_recordset(${JSON.stringify(this.#charges)}::text::json) as row (
          account_id uuid, number bigint, amount numeric, balance_after numeric, generation_id uuid)
      ), tried as (
        insert into attempts (generation_id, index, provider, status, started_at, completed_at, upstream_status, error_code)
        select generation_id, index, provider, status, to_timestamp(started_ms / 1000), to_timestamp(completed_ms / 1000), upstream_status, error_code
        from json_to_recordset(${JSON.stringify(this.#attempts)}::text::json) as row (
          generation_id uuid, index smallint, provider text, status text, started_ms float8, completed_ms float8,
          upstream_status smallint, error_code text)
      ), written_off as (
        insert into write_offs (generation_id, account_id, reason, amount)
        select generation_id, account_id, reason, amount
        from json_to_recordset(${JSON.stringify(this.#writeOffs)}::text::json) as row (
          generation_id uuid, account_id uuid, reason text, amount numeric)
      ), metered as (
        update api_key_meters
        set held = row.held, month = ${month}::text::date, month_spent = row.month_spent, last_used_at = now(),
            theoretical_arrival_at = to_timestamp(row.theoretical_arrival_ms / 1000)
        from json_to_recordset(${JSON.stringify(meterRows)}::text::json) as row (
          key_id uuid, held numeric, month_spent numeric, theoretical_arrival_ms float8)
        where api_key_meters.key_id = row.key_id
      )
      update accounts set balance = row.balance, held = row.held, entry_count = row.entry_count
      from json_to_recordset(${JSON.stringify(accountRows)}::text::json) as row (
        id uuid, balance numeric, held numeric, entry_count bigint)
      where accounts.id = row.id`;
  }

  #touch({ accountId, keyId }: { accountId: string; keyId: string }): void {
    this.#accountIds.add(accountId);
    this.#keyIds.add(keyId);
  }
}

function accountRow(id: string, state: AccountState | undefined): object {
  if (!state) throw new Error('An account changed without being locked.');
  return {
    id,
    balance: formatMoney(state.balance),
    held: formatMoney(state.held),
    entry_count: state.entryCount.toString(),
  };
}

function meterRow(keyId: string, state: MeterState | undefined): object {
  if (!state) throw new Error('A meter changed without being locked.');
  return {
    key_id: keyId,
    held: formatMoney(state.held),
    month_spent: formatMoney(state.monthSpent),
    theoretical_arrival_ms: state.theoreticalArrivalMs,
  };
}

/** An attempt that is still in progress when its Generation is settled was cut off with it. */
function attemptRow(generationId: string, attempt: Attempt): object {
  return {
    generation_id: generationId,
    index: attempt.index,
    provider: attempt.provider,
    status: attempt.status === 'in_progress' ? 'cancelled' : attempt.status,
    started_ms: attempt.startedAtMs,
    completed_ms: attempt.completedAtMs ?? attempt.startedAtMs,
    upstream_status: attempt.upstreamStatus,
    error_code: attempt.errorCode,
  };
}
