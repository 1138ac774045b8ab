/** Collects what a batch changes, and writes it in one statement. */
import type { SQL } from 'bun';
import { formatMoney, type Money } from '../lib/money.ts';
import { minuteMs } from '../lib/time-units.ts';
import {
  type Admitted,
  admittedFrom,
  type BatchRow,
  type BatchRows,
  type Needs,
  type WrittenJson,
} from './batch-rows.ts';
import type { AccountState, KeyState, SettlementDecision } from './decide.ts';
import { countUnit } from './decide-limits.ts';
import type {
  Attempt,
  Attribution,
  BilledCost,
  GenerationFacts,
  Hold,
  ProviderUsage,
  SetAside,
  Settlement,
} from './operations.ts';
import {
  accountDeltas,
  answerRows,
  attemptRows,
  attributionRows,
  claimRows,
  keyDeltas,
  limitDeltas,
  limitVersions,
  meteredRows,
  openedLimits,
  openedRows,
  type RowOf,
  requestRows,
  settledRows,
  unchargedRows,
  writeOffRows,
} from './rows.ts';
import { serializeSettlement } from './settlement.ts';

export class Effects {
  readonly #accountIds = new Set<string>();
  readonly #keyIds = new Set<string>();
  readonly #meterIds = new Set<string>();
  readonly #openedLimits: RowOf<typeof openedLimits>[] = [];
  /** Tokens that were counted and not used, by the meters of their limits. */
  readonly #returned = new Map<string, Returned>();
  readonly #opened: RowOf<typeof openedRows>[] = [];
  readonly #settled: RowOf<typeof settledRows>[] = [];
  /** One for each of the opened and of the settled. */
  readonly #openedRequests: RequestRow[] = [];
  readonly #settledRequests: RequestRow[] = [];
  /** How many of them are open. */
  #openCount = 0;
  /** How many requests of each key count towards its rate. */
  readonly #arrivals = new Map<string, number>();
  readonly #attempts: RowOf<typeof attemptRows>[] = [];
  readonly #writeOffs: RowOf<typeof writeOffRows>[] = [];
  readonly #metered: RowOf<typeof meteredRows>[] = [];
  readonly #uncharged: UnchargedRow[] = [];
  readonly #attributions: AttributionRow[] = [];
  readonly #claims: RowOf<typeof claimRows>[] = [];
  readonly #answers: RowOf<typeof answerRows>[] = [];
  /** Too rare to be part of the one statement. */
  readonly #rareWrites: ((connection: SQL) => Promise<unknown>)[] = [];

  hold({ generation, nodeId, provider, attempts }: Hold, amount: Money): void {
    this.#touch(generation);
    const { id, keyId, idempotencyHash: name } = generation;
    this.count(keyId);
    if (name !== null) this.#claims.push({ keyId, name, requestId: id });
    this.#opened.push({ ...generation, nodeId, provider, hold: amount, attempts });
    this.#openedRequests.push({ api: generation.api, finishReason: null });
    if (generation.limits && generation.limits.meters.length > 0)
      this.#openedLimits.push({ generationId: id, limits: generation.limits });
    if (generation.attribution) this.#attributions.push(...attributionRowsOf(generation));
  }

  /** `hold` is null for a Generation that is not open. */
  settle(
    settlement: Settlement,
    { account, charge, shortfall }: SettlementDecision,
    hold: Money | null,
  ): void {
    const { generation, usage, attempts, loss, stored } = settlement;
    const { id, accountId } = generation;
    const isShort = shortfall > 0n;
    this.#touch(generation);
    if (settlement.unusedTokens) this.#returnTokens(generation, settlement.unusedTokens);
    if (hold !== null) this.#openCount += 1;
    // What was written with the hold may have been lost with it.
    else if (generation.attribution) this.#attributions.push(...attributionRowsOf(generation));
    this.#settled.push({
      ...generation,
      hold: hold ?? 0n,
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
    this.#settledRequests.push({ api: generation.api, finishReason: settlement.finishReason });
    this.#meter(settlement, charge);
    for (const attempt of attempts) this.#attempts.push(attemptRow(id, attempt));
    if (charge === null || attempts.length > 1)
      this.#uncharged.push(...unchargedRowsOf(settlement, charge !== null));
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

  #meter({ generation, usage, providerCost, loss }: Settlement, charge: BilledCost | null): void {
    const tokens = usage?.cached;
    const cost = charge?.cached;
    const counts = loss?.counts;
    if (!tokens && !counts && providerCost === null) return;
    this.#metered.push({
      generationId: generation.id,
      cacheReadTokens: tokens?.read,
      cacheWriteTokens: tokens?.write,
      cacheWriteLongTokens: tokens?.writeLong,
      costCacheRead: cost?.read,
      costCacheWrite: cost?.write,
      costCacheWriteLong: cost?.writeLong,
      cacheSaved: cost?.saved,
      providerCost,
      reported: counts,
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

  /** Removes the record of a Generation that another node had closed. It is settled next. */
  reopen(id: string): void {
    this.#rareWrites.push((connection) => connection`select ledger_discard_ended(${id}::uuid)`);
  }

  /** The provider bills what it served all the same. */
  refund({ generation, attempts }: Settlement, { accounts }: BatchRows): void {
    this.#touch(generation);
    const served = attempts.at(-1);
    if (served?.uncharged) this.#uncharged.push(unchargedRow(generation, served, served.uncharged));
    const { entryCount, balance } = found(accounts, generation.accountId).state;
    this.#rareWrites.push(
      (connection) =>
        connection`select ledger_refund(${generation.id}::uuid, ${entryCount}, ${formatMoney(balance)}::text::numeric)`,
    );
  }

  /** The usage of a Generation that another node had closed is now known, but can no longer be charged. */
  noteLateLoss(settlement: Settlement): void {
    const { generation, cost } = settlement;
    this.#noteLateUsage(settlement);
    if (cost === null || cost.total === 0n) return;
    this.#rareWrites.push(
      (connection) => connection`
        update write_offs set amount = ${formatMoney(cost.total)}::text::numeric
        where generation_id = ${generation.id} and amount is null`,
    );
  }

  /** Whoever closed it knew only that a call was in progress, or nothing at all. */
  #noteLateUsage(settlement: Settlement): void {
    const known = unchargedRowsOf(settlement, false).filter(({ inputTokens }) => inputTokens !== undefined);
    if (known.length === 0) return;
    this.#rareWrites.push(
      (connection) => connection`
        insert into uncharged_attempts as attempt (generation_id, index, account_id, model, provider, ended_at, input_tokens,
          cache_read_tokens, cache_write_tokens, cache_write_long_tokens, output_tokens, cost, price_list_id)
        select generation_id, index, account_id, model, provider, to_timestamp(ended_at_ms / 1000), input_tokens,
               cache_read_tokens, cache_write_tokens, cache_write_long_tokens, output_tokens, cost, price_list_id
        from unnest(${unchargedRows.literal(known)}::text::ledger_uncharged_row[])
        where exists (select from generations where generations.id = generation_id)
        on conflict (generation_id, index) do update
        set input_tokens = excluded.input_tokens, cache_read_tokens = excluded.cache_read_tokens,
            cache_write_tokens = excluded.cache_write_tokens,
            cache_write_long_tokens = excluded.cache_write_long_tokens, output_tokens = excluded.output_tokens,
            cost = excluded.cost
        where attempt.input_tokens is null`,
    );
  }

  setAside({ generation, settlement, error }: SetAside): void {
    // The stored response is lost together with its charge, and may be long. Whom the request was for is stored elsewhere, and
    // would stay here for longer than it may.
    const { limits } = settlement.generation;
    const unnamed = limits && { ...limits, meters: limits.meters.map((one) => ({ ...one, endUser: null })) };
    const kept = { ...settlement.generation, attribution: null, limits: unnamed };
    const stored = serializeSettlement({ ...settlement, stored: null, generation: kept });
    this.#rareWrites.push(
      (connection) => connection`
        insert into dead_letters (generation_id, account_id, key_id, settlement, refusal_code, refusal_about)
        values (${generation.id}, ${generation.accountId}, ${generation.keyId}, ${stored}::text::jsonb, ${error.code},
                ${error.about})
        on conflict (generation_id) do nothing`,
    );
  }

  /** A request counts towards the rate of its key. */
  count(keyId: string): void {
    this.#keyIds.add(keyId);
    this.#arrivals.set(keyId, (this.#arrivals.get(keyId) ?? 0) + 1);
  }

  #touch({ accountId, keyId, limits }: GenerationFacts): void {
    this.#accountIds.add(accountId);
    this.#keyIds.add(keyId);
    if (limits) for (const { id } of limits.meters) this.#meterIds.add(id);
  }

  /** They count for the minute in which they were counted. Of several minutes, all but the last are surely over. */
  #returnTokens({ limits }: GenerationFacts, { count, countedAtMs }: UnusedTokens): void {
    const minute = Math.floor(countedAtMs / minuteMs);
    for (const { id, kind } of limits?.meters ?? []) {
      if (kind !== 'tokens_per_minute') continue;
      const others = this.#returned.get(id);
      if (others !== undefined && others.minute > minute) continue;
      const returned = others?.minute === minute ? others.count : 0;
      this.#returned.set(id, { minute, count: returned + count });
    }
  }

  /** Whether there is anything for `write`: there is not if everything was denied. */
  get hasRows(): boolean {
    return this.#accountIds.size + this.#keyIds.size > 0;
  }

  /** Nothing may be sent on the connection between these and the statement of `write`. */
  async writeRare(connection: SQL): Promise<void> {
    for (const write of this.#rareWrites) await write(connection);
  }

  /** Nothing for a batch that no limit applies to, which is most of them. */
  #limitArguments(connection: SQL, rows: BatchRows, needs: Needs | null) {
    const versions = [...(needs?.limitVersions ?? [])].map(([accountId, version]) => ({
      accountId,
      version,
    }));
    if (this.#meterIds.size === 0 && versions.length === 0) return connection``;
    return connection`,
      ${limitDeltas.literal(this.#limitDeltas(rows, needs))}::text::ledger_limit_delta[],
      ${limitVersions.literal(versions)}::text::ledger_limit_version[],
      ${openedLimits.literal(this.#openedLimits)}::text::ledger_opened_limits[]`;
  }

  /**
   * One statement, sent at once. What it writes is added to the rows, so they need not be as they were when it was decided.
   * Returns what is left for the keys of requests that were admitted, if there are any.
   */
  async write(connection: SQL, rows: BatchRows, how: Writing): Promise<Admitted | null> {
    const [{ written }] = await connection<[{ written: WrittenJson }]>`
      select ledger_write_batch(
        ${how.atMs}::float8,
        ${accountDeltas.literal(this.#accountDeltas(rows, how.needs))}::text::ledger_account_delta[],
        ${keyDeltas.literal(this.#keyDeltas(rows, how.needs))}::text::ledger_key_delta[],
        ${claimRows.literal(this.#claims)}::text::ledger_claim_row[],
        ${openedRows.literal(this.#opened)}::text::ledger_opened_row[],
        ${settledRows.literal(this.#settled.map((row) => afterLast(row, rows)))}::text::ledger_settled_row[],
        ${this.#openCount}::integer,
        ${attemptRows.literal(this.#attempts)}::text::ledger_attempt_row[],
        ${writeOffRows.literal(this.#writeOffs)}::text::ledger_write_off_row[],
        ${answerRows.literal(this.#answers)}::text::ledger_answer_row[],
        ${meteredRows.literal(this.#metered)}::text::ledger_metered_row[],
        ${unchargedRows.literal(this.#uncharged)}::text::ledger_uncharged_row[],
        ${attributionRows.literal(this.#attributions)}::text::ledger_attribution_row[],
        ${this.#arrivals.size > 0}::boolean,
        ${how.isDurable}::boolean${this.#limitArguments(connection, rows, how.needs)},
        opened_requests => ${requestRows.literal(this.#openedRequests)}::text::ledger_request_row[],
        settled_requests => ${requestRows.literal(this.#settledRequests)}::text::ledger_request_row[]) as written`.execute();
    return admittedFrom(written);
  }

  #accountDeltas({ accounts }: BatchRows, needs: Needs | null): RowOf<typeof accountDeltas>[] {
    return sorted(needs?.accounts ?? this.#accountIds).map((id) => {
      const { before, state } = found(accounts, id);
      return {
        id,
        balance: state.balance - before.balance,
        held: state.held - before.held,
        entryCount: state.entryCount - before.entryCount,
        ...(needs?.accounts.get(id) ?? noNeeds),
      };
    });
  }

  #limitDeltas({ limits }: BatchRows, needs: Needs | null): RowOf<typeof limitDeltas>[] {
    return sorted(this.#meterIds).flatMap((id) => {
      const row = limits.get(id);
      if (row === undefined) return [];
      const { before, state } = row;
      const returned = this.#returned.get(id);
      return {
        id,
        limitId: state.meter.limitId,
        endUser: state.meter.endUser,
        used: state.used - before.used,
        held: state.held - before.held,
        returned: countUnit * BigInt(returned?.count ?? 0),
        returnedMs: returned && returned.minute * minuteMs,
        needed: needs?.limits.get(id),
      };
    });
  }

  #keyDeltas({ keys }: BatchRows, needs: Needs | null): RowOf<typeof keyDeltas>[] {
    return sorted(needs?.keys ?? this.#keyIds).map((keyId) => {
      const { before, state } = found(keys, keyId);
      return {
        keyId,
        held: state.held - before.held,
        monthSpent: state.monthSpent - before.monthSpent,
        openCount: state.openCount - before.openCount,
        arrivals: this.#arrivals.get(keyId) ?? 0,
        ...(needs?.keys.get(keyId) ?? noNeeds),
      };
    });
  }
}

/**
 * `atMs` is the time of the decisions, and null if they do not depend on it. `needs` are null if the rows are locked.
 * With `isDurable` the commit waits for the disk.
 */
export type Writing = Readonly<{ atMs: number | null; needs: Needs | null; isDurable: boolean }>;

const noNeeds = { isAdmitting: false, free: null, left: null, open: 0 };

type UnusedTokens = NonNullable<Settlement['unusedTokens']>;
type Returned = Readonly<{ minute: number; count: number }>;

type SettledRow = RowOf<typeof settledRows>;
type RequestRow = RowOf<typeof requestRows>;

/** Its entry and its balance, counted from the last ones that the batch leaves: only the database knows these. */
function afterLast(row: SettledRow, { accounts }: BatchRows): SettledRow {
  const { entryCount, balance } = found(accounts, row.accountId).state;
  return {
    ...row,
    entryNumber: (row.entryNumber ?? 0n) - entryCount,
    balanceAfter: (row.balanceAfter ?? 0n) - balance,
  };
}

/** Rows are locked in the order of their IDs, so that two nodes never wait for each other. */
function sorted(ids: ReadonlySet<string> | ReadonlyMap<string, unknown>): string[] {
  return ids.size === 1 ? [...ids.keys()] : [...ids.keys()].sort();
}

function found<State extends AccountState | KeyState>(
  rows: ReadonlyMap<string, BatchRow<State>>,
  id: string,
): BatchRow<State> {
  const row = rows.get(id);
  if (row === undefined) throw new Error('A row changed that was not read.');
  return row;
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

type AttributionRow = RowOf<typeof attributionRows>;

function attributionRowsOf({ id, accountId, attribution }: GenerationFacts): AttributionRow[] {
  const { endUser, session, tags } = attribution ?? noAttribution;
  const row = { generationId: id, accountId };
  const rows: AttributionRow[] = tags.map((tag) => ({ ...row, kind: 'tag', label: tag.join('=') }));
  if (endUser !== null) rows.push({ ...row, kind: 'end_user', label: endUser });
  if (session !== null) rows.push({ ...row, kind: 'session', label: session });
  return rows;
}

const noAttribution: Attribution = { endUser: null, session: null, tags: [] };

type UnchargedRow = RowOf<typeof unchargedRows>;

/** A charge is for the last attempt: the ones before it failed. */
function unchargedRowsOf({ generation, attempts }: Settlement, isCharged: boolean): UnchargedRow[] {
  const rows: UnchargedRow[] = [];
  for (const [place, attempt] of attempts.entries()) {
    const isServed = isCharged && place === attempts.length - 1;
    if (attempt.uncharged !== null && !isServed)
      rows.push(unchargedRow(generation, attempt, attempt.uncharged));
  }
  return rows;
}

function unchargedRow(
  { id, accountId, model, priceListId }: GenerationFacts,
  { index, provider, startedAtMs, completedAtMs }: Attempt,
  { usage, cost }: ProviderUsage,
): UnchargedRow {
  return {
    generationId: id,
    index,
    accountId,
    model,
    provider,
    endedAtMs: completedAtMs ?? startedAtMs,
    inputTokens: usage?.inputTokens,
    cacheReadTokens: usage?.cached?.read,
    cacheWriteTokens: usage?.cached?.write,
    cacheWriteLongTokens: usage?.cached?.writeLong,
    outputTokens: usage?.outputTokens,
    cost,
    priceListId,
  };
}
