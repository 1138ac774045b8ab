/** Collects the rows that a batch changes, and writes them in one statement. */
import type { SQL } from 'bun';
import { formatMoney, type Money } from '../lib/money.ts';
import type { AccountState, MeterState, SettlementDecision } from './decide.ts';
import type { Attempt, GenerationFacts, Hold, SetAside, Settlement } from './operations.ts';
import {
  accountRows,
  answerRows,
  attemptRows,
  claimRows,
  closedRows,
  meterRows,
  openedRows,
  type RowOf,
  writeOffRows,
} from './rows.ts';
import { serializeSettlement } from './settlement.ts';

export class Effects {
  readonly #accountIds = new Set<string>();
  readonly #keyIds = new Set<string>();
  readonly #opened: RowOf<typeof openedRows>[] = [];
  readonly #closed: RowOf<typeof closedRows>[] = [];
  readonly #attempts: RowOf<typeof attemptRows>[] = [];
  readonly #writeOffs: RowOf<typeof writeOffRows>[] = [];
  readonly #claims: RowOf<typeof claimRows>[] = [];
  readonly #answers: RowOf<typeof answerRows>[] = [];
  /** Too rare to be part of the one statement. */
  readonly #rareWrites: ((connection: SQL) => Promise<unknown>)[] = [];

  hold({ generation, nodeId, provider, attempts }: Hold, amount: Money): void {
    this.#touch(generation);
    const { id, keyId, idempotencyHash: name } = generation;
    if (name !== null) this.#claims.push({ keyId, name, requestId: id });
    this.#opened.push({ ...generation, nodeId, provider, hold: amount, attempts });
  }

  settle(settlement: Settlement, { account, charge, shortfall }: SettlementDecision): void {
    const { generation, usage, attempts, loss, stored } = settlement;
    const { id, accountId } = generation;
    const isShort = shortfall > 0n;
    this.#touch(generation);
    this.#closed.push({
      id,
      provider: settlement.provider,
      status: isShort ? 'failed' : settlement.status,
      attemptCount: attempts.length,
      inputTokens: usage?.inputTokens,
      outputTokens: usage?.outputTokens,
      units: usage?.units,
      unit: usage?.unit,
      tier: usage?.tier,
      costInput: charge?.input,
      costOutput: charge?.output,
      costTotal: charge?.total,
      latencyMs: asInteger(settlement.latencyMs),
      timeToFirstTokenMs: settlement.timeToFirstTokenMs && asInteger(settlement.timeToFirstTokenMs),
      errorCode: isShort ? 'insufficient_balance' : settlement.errorCode,
      completedAtMs: settlement.completedAtMs,
      entryNumber: account.entryCount,
      balanceAfter: account.balance,
      isEstimated: settlement.isEstimated,
    });
    for (const attempt of attempts) this.#attempts.push(attemptRow(id, attempt));
    if (stored !== null)
      this.#storeAnswer(
        generation,
        stored.idempotencyHash,
        isShort ? stored.insufficientBalanceResponse : stored.response,
        isShort,
      );
    if (isShort || loss !== null)
      this.#writeOffs.push({
        generationId: id,
        accountId,
        reason: isShort ? 'insufficient_balance' : (loss?.reason ?? ''),
        amount: isShort ? shortfall : loss?.amount,
        reportedInputTokens: loss?.reported?.inputTokens,
        reportedOutputTokens: loss?.reported?.outputTokens,
      });
  }

  #storeAnswer({ keyId, id }: GenerationFacts, name: string, answer: string | null, isShort: boolean): void {
    if (answer === null) return;
    const stored = { keyId, name, requestId: id };
    this.#answers.push(
      answer === 'staged'
        ? { ...stored, answer: null, staged: isShort ? 'short' : 'whole' }
        : { ...stored, answer, staged: null },
    );
  }

  /** Opens a Generation again that another node had closed, with nothing held. It is settled next. */
  reopen(id: string): void {
    this.#rareWrites.push((connection) => connection`select reopen_generations(array[${id}::uuid])`);
  }

  refund(generation: GenerationFacts, { entryCount, balance }: AccountState): void {
    this.#touch(generation);
    this.#rareWrites.push(
      (connection) =>
        connection`select ledger_refund(${generation.id}::uuid, ${entryCount}, ${formatMoney(balance)}::text::numeric)`,
    );
  }

  /** The usage of a Generation that another node had closed is now known, but can no longer be charged. */
  noteLateLoss({ generation, cost }: Settlement): void {
    if (cost === null || cost.total === 0n) return;
    this.#rareWrites.push(
      (connection) => connection`
        update write_offs set amount = ${formatMoney(cost.total)}::text::numeric
        where generation_id = ${generation.id} and amount is null`,
    );
  }

  setAside({ generation, settlement, error }: SetAside): void {
    // The stored response is lost together with its charge, and may be long.
    const stored = serializeSettlement({ ...settlement, stored: null });
    this.#rareWrites.push(
      (connection) => connection`
        insert into dead_letters (generation_id, account_id, key_id, settlement, refusal_code, refusal_about)
        values (${generation.id}, ${generation.accountId}, ${generation.keyId}, ${stored}::text::jsonb, ${error.code},
                ${error.about})
        on conflict (generation_id) do nothing`,
    );
  }

  touchKey(keyId: string): void {
    this.#keyIds.add(keyId);
  }

  #touch({ accountId, keyId }: GenerationFacts): void {
    this.#accountIds.add(accountId);
    this.#keyIds.add(keyId);
  }

  async writeRare(connection: SQL): Promise<void> {
    for (const write of this.#rareWrites) await write(connection);
    // A request that lost its claim is not admitted, and responses are stored together with their charge.
    if (this.#claims.length > 0)
      await connection`select ledger_require_claims(${claimRows.literal(this.#claims)}::text::ledger_claim_row[])`;
    if (this.#answers.length > 0)
      await connection`select ledger_store_answers(${answerRows.literal(this.#answers)}::text::ledger_answer_row[])`;
  }

  /** One statement. The commit is sent right behind it on the same connection. */
  async write(
    connection: SQL,
    accounts: ReadonlyMap<string, AccountState>,
    meters: ReadonlyMap<string, MeterState>,
    month: string,
  ): Promise<void> {
    if (this.#keyIds.size === 0) return;
    const changedAccounts = Array.from(this.#accountIds, (id) => ({ id, ...locked(accounts, id) }));
    const changedMeters = Array.from(this.#keyIds, (keyId) => ({ keyId, ...locked(meters, keyId) }));
    await connection`
      select ledger_write(
        ${month}::text::date,
        ${accountRows.literal(changedAccounts)}::text::ledger_account_row[],
        ${meterRows.literal(changedMeters)}::text::ledger_meter_row[],
        ${openedRows.literal(this.#opened)}::text::ledger_opened_row[],
        ${closedRows.literal(this.#closed)}::text::ledger_closed_row[],
        ${attemptRows.literal(this.#attempts)}::text::ledger_attempt_row[],
        ${writeOffRows.literal(this.#writeOffs)}::text::ledger_write_off_row[])`;
  }
}

function locked<State>(states: ReadonlyMap<string, State>, id: string): State {
  const state = states.get(id);
  if (state === undefined) throw new Error('A row changed without being locked.');
  return state;
}

const maxInteger = 2_147_483_647;

/** Clamped to what the column can store: a Generation that was open for a month must still be settled. */
function asInteger(durationMs: number): number {
  return Math.max(0, Math.min(Math.round(durationMs), maxInteger));
}

/** An attempt that is still in progress when its Generation is settled was cut off with it. */
function attemptRow(generationId: string, attempt: Attempt): RowOf<typeof attemptRows> {
  return {
    ...attempt,
    generationId,
    status: attempt.status === 'in_progress' ? 'cancelled' : attempt.status,
    completedAtMs: attempt.completedAtMs ?? attempt.startedAtMs,
  };
}
