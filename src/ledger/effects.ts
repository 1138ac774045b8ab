/** Collects what a batch of decisions changes, as rows, and hands all of it to the database in one statement. */
import type { SQL } from 'bun';
import type { Money } from '../lib/money.ts';
import type { AccountState, MeterState, SettlementDecision } from './decide.ts';
import type { Attempt, GenerationFacts, Hold, SetAside, Settlement } from './operations.ts';
import { serializeSettlement } from './spool-format.ts';

type Owned = Pick<GenerationFacts, 'accountId' | 'keyId'>;

export class Effects {
  readonly #accountIds = new Set<string>();
  readonly #keyIds = new Set<string>();
  readonly #opened: object[] = [];
  readonly #closed: object[] = [];
  readonly #attempts: object[] = [];
  readonly #charges: object[] = [];
  readonly #writeOffs: object[] = [];
  readonly #claims: object[] = [];
  readonly #kept: object[] = [];
  /** What happens too seldom to have a place in the one statement. */
  readonly #rarely: ((connection: SQL) => Promise<unknown>)[] = [];

  hold({ generation, nodeId, provider, attempts }: Hold, amount: Money): void {
    this.touch(generation);
    const { claimedName: name } = generation;
    if (name !== null) this.#claims.push({ key_id: generation.keyId, name, request_id: generation.id });
    this.#opened.push({
      id: generation.id,
      account_id: generation.accountId,
      key_id: generation.keyId,
      node_id: nodeId,
      workload: generation.workload,
      model: generation.model,
      provider,
      streaming: generation.streaming,
      hold: `${amount}`,
      price_list_id: generation.priceListId,
      attempts,
      created_ms: generation.createdAtMs,
    });
  }

  settle(settlement: Settlement, { account, charge, shortfall }: SettlementDecision): void {
    const { generation, usage, attempts } = settlement;
    const isShort = shortfall > 0n;
    this.touch(generation);
    this.#closed.push({
      id: generation.id,
      provider: settlement.provider,
      status: isShort ? 'failed' : settlement.status,
      fallback: attempts.length > 1,
      attempt_count: attempts.length,
      input_tokens: usage?.inputTokens,
      output_tokens: usage?.outputTokens,
      units: usage?.units,
      unit: usage?.unit,
      tier: usage?.tier,
      cost_input: charge && `${charge.input}`,
      cost_output: charge && `${charge.output}`,
      cost_total: charge && `${charge.total}`,
      latency_ms: asInteger(settlement.latencyMs),
      time_to_first_token_ms: settlement.timeToFirstTokenMs && asInteger(settlement.timeToFirstTokenMs),
      error_code: isShort ? 'insufficient_balance' : settlement.errorCode,
      completed_ms: settlement.completedAtMs,
    });
    for (const attempt of attempts) this.#attempts.push(attemptRow(generation.id, attempt));
    if (charge !== null) {
      this.#charges.push({
        generation_id: generation.id,
        account_id: generation.accountId,
        number: `${account.entryCount}`,
        amount: `${-charge.total}`,
        balance_after: `${account.balance}`,
        is_estimated: settlement.isEstimated,
      });
    }
    if (settlement.kept !== null) {
      const { name, whole, whenShort } = settlement.kept;
      const answer = isShort ? whenShort : whole;
      const kept =
        answer === 'staged' ? { staged: isShort ? 'short' : 'whole' } : answer === null ? null : { answer };
      if (kept !== null)
        this.#kept.push({ key_id: generation.keyId, name, request_id: generation.id, ...kept });
    }
    if (isShort || settlement.loss !== null) {
      const amount = isShort ? shortfall : (settlement.loss?.amount ?? null);
      this.#writeOffs.push({
        generation_id: generation.id,
        account_id: generation.accountId,
        reason: isShort ? 'insufficient_balance' : settlement.loss?.reason,
        amount: amount === null ? null : `${amount}`,
        reported_input_tokens: settlement.loss?.reported?.inputTokens,
        reported_output_tokens: settlement.loss?.reported?.outputTokens,
      });
    }
  }

  /** Before it is settled: a Generation that had been given up is open again, with nothing held. */
  reopen(id: string): void {
    this.#rarely.push((connection) => connection`select reopen_generations(array[${id}::uuid])`);
  }

  refund(generation: GenerationFacts, { entryCount, balance }: AccountState): void {
    this.touch(generation);
    this.#rarely.push(
      (connection) =>
        connection`select refund_charge(${generation.id}::uuid, ${entryCount}, ${`${balance}`}::text::numeric)`,
    );
  }

  /** What was used by a Generation that stays given up is known now, though it can no longer be charged. */
  noteLateLoss({ generation, cost }: Settlement): void {
    if (cost === null || cost.total === 0n) return;
    this.#rarely.push(
      (connection) => connection`
        update write_offs set amount = ${`${cost.total}`}::text::numeric * 0.000000000001
        where generation_id = ${generation.id} and amount is null`,
    );
  }

  setAside({ generation, settlement, refusal }: SetAside): void {
    // The answer that was to be kept is lost with its charge, and may be long.
    const stored = serializeSettlement({ ...settlement, kept: null });
    this.#rarely.push(
      (connection) => connection`
        insert into dead_letters (generation_id, account_id, key_id, settlement, refusal_code, refusal_about)
        values (${generation.id}, ${generation.accountId}, ${generation.keyId}, ${stored}::text::jsonb, ${refusal.code},
                ${refusal.about})
        on conflict (generation_id) do nothing`,
    );
  }

  async writeRarely(connection: SQL): Promise<void> {
    for (const write of this.#rarely) await write(connection);
  }

  /** For requests with a name: whoever lost its claim is not admitted, and answers are kept with their charge. */
  async writeClaims(connection: SQL): Promise<void> {
    if (this.#claims.length > 0)
      await connection`select require_claims(${JSON.stringify(this.#claims)}::text::json)`;
    if (this.#kept.length > 0)
      await connection`select keep_answers(${JSON.stringify(this.#kept)}::text::json)`;
  }

  /** One statement, sent at once: the commit follows it on the same connection without waiting. */
  async write(
    connection: SQL,
    accounts: ReadonlyMap<string, AccountState>,
    meters: ReadonlyMap<string, MeterState>,
    month: string,
  ): Promise<void> {
    if (this.#keyIds.size === 0) return;
    const accountRows = [...this.#accountIds].map((id) => accountRow(id, accounts.get(id)));
    const meterRows = [...this.#keyIds].map((id) => meterRow(id, meters.get(id)));
    await connection`
      select write_to_ledger(
        ${JSON.stringify(accountRows)}::text::json, ${JSON.stringify(meterRows)}::text::json, ${month}::text::date,
        ${orNull(this.#opened)}::text::json, ${orNull(this.#closed)}::text::json, ${orNull(this.#attempts)}::text::json,
        ${orNull(this.#charges)}::text::json, ${orNull(this.#writeOffs)}::text::json)`;
  }

  touch({ accountId, keyId }: Owned): void {
    this.#accountIds.add(accountId);
    this.#keyIds.add(keyId);
  }

  touchKey(keyId: string): void {
    this.#keyIds.add(keyId);
  }
}

function orNull(rows: readonly object[]): string | null {
  return rows.length === 0 ? null : JSON.stringify(rows);
}

function accountRow(id: string, state: AccountState | undefined): object {
  if (!state) throw new Error('An account changed without being locked.');
  return {
    id,
    balance: `${state.balance}`,
    held: `${state.held}`,
    entry_count: `${state.entryCount}`,
  };
}

function meterRow(keyId: string, state: MeterState | undefined): object {
  if (!state) throw new Error('A meter changed without being locked.');
  return {
    key_id: keyId,
    held: `${state.held}`,
    month_spent: `${state.monthSpent}`,
    theoretical_arrival_ms: state.theoreticalArrivalMs,
    open_count: state.openCount,
  };
}

const largestInteger = 2_147_483_647;

/** As the column holds it: a Generation that was open for a month is settled all the same. */
function asInteger(durationMs: number): number {
  return Math.max(0, Math.min(Math.round(durationMs), largestInteger));
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
