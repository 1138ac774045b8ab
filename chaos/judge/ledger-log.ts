/** The third log: what the database has about every Generation, once all is quiet. */
import type { SQL } from 'bun';
import { requestIdFromUuid } from '../../src/lib/ids.ts';
import { moneyFromDatabase } from '../../src/lib/money.ts';
import type { Usage } from '../world/upstream.ts';

export type RecordedAttempt = Readonly<{ provider: string; status: string; errorCode: string | null }>;

/** A call that a provider may bill although nobody was charged for it. The usage is null if it is unknown. */
export type UnchargedCall = Readonly<{ provider: string; usage: Usage | null; cost: bigint | null }>;

/** An early call for which nothing was held. */
export type CancelledCall = UnchargedCall & Readonly<{ reason: string }>;

/** What the usage record of a charge has. */
export type UsageRecord = Readonly<{
  readTokens: number | null;
  writtenTokens: number | null;
  saved: bigint | null;
  provider: string | null;
  providerCost: bigint | null;
}>;

/** The part of the input that a cache was involved in, and of what the input costs. */
export type RecordedCache = Readonly<{
  readTokens: number;
  writtenTokens: number;
  costRead: bigint | null;
  costWritten: bigint | null;
}>;

export type RecordedGeneration = Readonly<{
  requestId: string;
  /** The provider that was called last. */
  provider: string;
  isFallback: boolean;
  /** In their order. */
  attempts: readonly RecordedAttempt[];
  status: string;
  errorCode: string | null;
  streaming: boolean;
  inputTokens: number | null;
  outputTokens: number | null;
  /** Null when no cache was involved. */
  cached: RecordedCache | null;
  costInput: bigint | null;
  /** Null when nothing was charged. */
  record: UsageRecord | null;
  uncharged: readonly UnchargedCall[];
  /** The hold when it was settled; null when it had been released before. */
  hold: bigint | null;
  /** Its charges; more than one is a fault. */
  charges: readonly bigint[];
  /** What the gateway refunded by itself, and what people refunded. */
  refunds: readonly bigint[];
  refundsByHand: readonly bigint[];
  /** Whether the charge is the gateway's own estimate. */
  isEstimated: boolean;
  /** What was written off and why; the amount is null if it is unknown. */
  writeOff: Readonly<{ reason: string; amount: bigint | null }> | null;
}>;

/** An entry that someone made by hand, except what was left of a grant that they voided. */
export type RecordedMovement = Readonly<{
  accountId: string;
  number: number;
  kind: string;
  amount: bigint;
  /** The request that was refunded. */
  requestId: string | null;
  /** The entry that was undone. */
  entryNumber: number | null;
  words: string;
  reference: string | null;
}>;

export type LedgerLog = Readonly<{
  generations: ReadonlyMap<string, RecordedGeneration>;
  /** By request ID. */
  cancelledCalls: ReadonlyMap<string, CancelledCall>;
  /** Charges whose Generation does not exist. */
  strayCharges: readonly string[];
  movements: readonly RecordedMovement[];
  accounts: number;
  /** Accounts whose entries do not sum to their balance. */
  unequalAccounts: number;
  openGenerations: number;
  /** Accounts, keys and limits that still hold something. */
  holders: number;
  limitedKeys: number;
  /** Keys that spent more than their limit, not counting what was settled after its hold had been released. */
  exceededLimits: number;
  /** Settlements that the database refused for good. */
  deadLetters: number;
  /** All that was added up by day. */
  days: DaySums;
}>;

export type DaySums = Readonly<{
  requests: number;
  readTokens: number;
  writtenTokens: number;
  saved: bigint;
  /** These are the margins'. */
  marginRequests: number;
  revenue: bigint;
  cost: bigint;
  unpricedRequests: number;
}>;

type GenerationRow = {
  id: string;
  provider: string;
  fallback: boolean;
  status: string;
  error_code: string | null;
  streaming: boolean;
  input_tokens: bigint | null;
  output_tokens: bigint | null;
  cost_input: string | null;
  hold: string | null;
} & CacheRow;
type CacheRow = {
  cache_read_tokens: bigint | null;
  cache_write_tokens: bigint | null;
  cost_cache_read: string | null;
  cost_cache_write: string | null;
};
type UsageRow = {
  id: string;
  cache_read_tokens: bigint | null;
  cache_write_tokens: bigint | null;
  cache_saved: string | null;
  provider: string | null;
  provider_cost: string | null;
};
type UnchargedRow = UsedRow & { generation_id: string };
type CancelledRow = UsedRow & { id: string; reason: string };
type UsedRow = {
  provider: string;
  input_tokens: bigint | null;
  output_tokens: bigint | null;
  cache_read_tokens: bigint | null;
  cache_write_tokens: bigint | null;
  cost: string | null;
};
type AttemptRow = { generation_id: string; provider: string; status: string; error_code: string | null };
type EntryRow = {
  generation_id: string;
  kind: 'charge' | 'refund';
  amount: string;
  is_estimated: boolean;
  is_by_hand: boolean;
};
type WriteOffRow = { generation_id: string; reason: string; amount: string | null };
type SummaryRow = Record<
  'accounts' | 'unequal' | 'open' | 'holders' | 'limited_keys' | 'exceeded_limits' | 'dead_letters',
  bigint
>;

export async function readLedger(sql: SQL): Promise<LedgerLog> {
  const [summary] = await sql<SummaryRow[]>`
    select (select count(*) from accounts) as accounts,
      (select count(*) from accounts where balance <> coalesce(
        (select sum(amount) from ledger_entries where account_id = accounts.id), 0)) as unequal,
      (select count(*) from open_generations) as open,
      (select count(*) from accounts where held <> 0) + (select count(*) from api_key_meters where held <> 0)
        + (select count(*) from limit_meters join limits on limits.id = limit_id where held <> 0) as holders,
      (select count(*) from api_keys where monthly_limit is not null) as limited_keys,
      (select count(*) from api_keys where monthly_limit < coalesce(
        (select sum(cost - refunded) from usage_records join generations using (id)
         where usage_records.key_id = api_keys.id and refunded_at is null and hold is not null), 0)) as exceeded_limits,
      (select count(*) from dead_letters) as dead_letters`;
  if (!summary) throw new Error('The database does not answer.');
  return {
    ...(await readGenerations(sql)),
    cancelledCalls: await readCancelled(sql),
    movements: await readMovements(sql),
    accounts: Number(summary.accounts),
    unequalAccounts: Number(summary.unequal),
    openGenerations: Number(summary.open),
    holders: Number(summary.holders),
    limitedKeys: Number(summary.limited_keys),
    exceededLimits: Number(summary.exceeded_limits),
    deadLetters: Number(summary.dead_letters),
    days: await readDays(sql),
  };
}

async function readGenerations(sql: SQL): Promise<Pick<LedgerLog, 'generations' | 'strayCharges'>> {
  const rows = await sql<GenerationRow[]>`
    select id, provider, fallback, status, error_code, streaming, input_tokens, output_tokens, cost_input, hold,
           cache_read_tokens, cache_write_tokens + cache_write_long_tokens as cache_write_tokens, cost_cache_read,
           cost_cache_write + cost_cache_write_long as cost_cache_write
    from generations`;
  const records = await sql<UsageRow[]>`
    select id, cache_read_tokens, cache_write_tokens + cache_write_long_tokens as cache_write_tokens, cache_saved, provider,
           provider_cost
    from usage_records`;
  const uncharged = await sql<UnchargedRow[]>`
    select generation_id, provider, input_tokens, output_tokens, cache_read_tokens,
           cache_write_tokens + cache_write_long_tokens as cache_write_tokens, cost
    from uncharged_attempts`;
  const attempts = await sql<AttemptRow[]>`
    select generation_id, provider, status, error_code from attempts order by generation_id, index`;
  const entries = await sql<EntryRow[]>`
    select generation_id, kind, amount, is_estimated, actor is not null as is_by_hand
    from ledger_entries where generation_id is not null`;
  const writeOffs = await sql<WriteOffRow[]>`select generation_id, reason, amount from write_offs`;
  const recorded = new Map(records.map((row) => [row.id, row]));
  const unpaid = Map.groupBy(uncharged, (row) => row.generation_id);
  const tried = Map.groupBy(attempts, (attempt) => attempt.generation_id);
  const charged = Map.groupBy(entries, (entry) => entry.generation_id);
  const lost = new Map(writeOffs.map((row) => [row.generation_id, row]));
  const generations = rows.map(
    (row): RecordedGeneration => ({
      requestId: requestIdFromUuid(row.id),
      provider: row.provider,
      isFallback: row.fallback,
      attempts: (tried.get(row.id) ?? []).map(attemptOf),
      status: row.status,
      errorCode: row.error_code,
      streaming: row.streaming,
      inputTokens: countOf(row.input_tokens),
      outputTokens: countOf(row.output_tokens),
      cached: cacheOf(row),
      costInput: amountOf(row.cost_input),
      record: recordOf(recorded.get(row.id)),
      uncharged: (unpaid.get(row.id) ?? []).map(unchargedOf),
      hold: amountOf(row.hold),
      ...entriesOf(charged.get(row.id) ?? []),
      writeOff: writeOffOf(lost.get(row.id)),
    }),
  );
  const known = new Set(rows.map((row) => row.id));
  return {
    generations: new Map(generations.map((generation) => [generation.requestId, generation])),
    strayCharges: [...charged.keys()].filter((id) => !known.has(id)),
  };
}

type MovementRow = {
  account_id: string;
  number: bigint;
  kind: string;
  amount: string;
  generation_id: string | null;
  concerns_entry: bigint | null;
  memo: string | null;
  reference: string | null;
};

async function readMovements(sql: SQL): Promise<RecordedMovement[]> {
  const rows = await sql<MovementRow[]>`
    select account_id, number, kind, amount, generation_id, concerns_entry, memo,
           coalesce(reference_text, reference::text) as reference
    from ledger_entries where actor is not null and kind <> 'void' order by account_id, number`;
  return rows.map((row) => ({
    accountId: row.account_id,
    number: Number(row.number),
    kind: row.kind,
    amount: moneyFromDatabase(row.amount),
    requestId: row.generation_id === null ? null : requestIdFromUuid(row.generation_id),
    entryNumber: countOf(row.concerns_entry),
    words: row.memo ?? '',
    reference: row.reference,
  }));
}

async function readCancelled(sql: SQL): Promise<LedgerLog['cancelledCalls']> {
  const rows = await sql<CancelledRow[]>`
    select id, reason, provider, input_tokens, output_tokens, cache_read_tokens,
           cache_write_tokens + cache_write_long_tokens as cache_write_tokens, cost
    from cancelled_calls`;
  return new Map(rows.map((row) => [requestIdFromUuid(row.id), { ...unchargedOf(row), reason: row.reason }]));
}

function attemptOf({ provider, status, error_code: errorCode }: AttemptRow): RecordedAttempt {
  return { provider, status, errorCode };
}

type DaysRow = Record<'requests' | 'read' | 'written' | 'margin_requests' | 'unpriced', bigint> &
  Record<'saved' | 'revenue' | 'cost', string>;

/** Nothing is left to be added up. */
async function readDays(sql: SQL): Promise<DaySums> {
  await sql`select add_up_usage(id, 10000000) from accounts`;
  const [row] = await sql<DaysRow[]>`
    select used.*, margins.* from (
      select coalesce(sum(requests), 0)::bigint as requests, coalesce(sum(cache_read_tokens), 0)::bigint as read,
             coalesce(sum(cache_write_tokens), 0)::bigint as written, coalesce(sum(cache_saved), 0)::numeric(38,12) as saved
      from usage_days) as used, (
      select coalesce(sum(requests), 0)::bigint as margin_requests, coalesce(sum(revenue), 0)::numeric(38,12) as revenue,
             coalesce(sum(cost), 0)::numeric(38,12) as cost, coalesce(sum(unpriced_requests), 0)::bigint as unpriced
      from margin_days) as margins`;
  if (!row) throw new Error('The database does not answer.');
  return {
    requests: Number(row.requests),
    readTokens: Number(row.read),
    writtenTokens: Number(row.written),
    saved: moneyFromDatabase(row.saved),
    marginRequests: Number(row.margin_requests),
    revenue: moneyFromDatabase(row.revenue),
    cost: moneyFromDatabase(row.cost),
    unpricedRequests: Number(row.unpriced),
  };
}

const countOf = (count: bigint | null) => (count === null ? null : Number(count));
const amountOf = (amount: string | null) => (amount === null ? null : moneyFromDatabase(amount));

function cacheOf(row: CacheRow): RecordedCache | null {
  if (row.cache_read_tokens === null) return null;
  return {
    readTokens: Number(row.cache_read_tokens),
    writtenTokens: Number(row.cache_write_tokens),
    costRead: amountOf(row.cost_cache_read),
    costWritten: amountOf(row.cost_cache_write),
  };
}

function recordOf(row: UsageRow | undefined): UsageRecord | null {
  if (row === undefined) return null;
  return {
    readTokens: countOf(row.cache_read_tokens),
    writtenTokens: countOf(row.cache_write_tokens),
    saved: amountOf(row.cache_saved),
    provider: row.provider,
    providerCost: amountOf(row.provider_cost),
  };
}

function unchargedOf(row: UsedRow): UnchargedCall {
  const usage =
    row.input_tokens === null
      ? null
      : {
          inputTokens: Number(row.input_tokens),
          outputTokens: Number(row.output_tokens),
          readTokens: Number(row.cache_read_tokens ?? 0),
          writtenTokens: Number(row.cache_write_tokens ?? 0),
        };
  return { provider: row.provider, usage, cost: amountOf(row.cost) };
}

function entriesOf(
  entries: readonly EntryRow[],
): Pick<RecordedGeneration, 'charges' | 'refunds' | 'refundsByHand' | 'isEstimated'> {
  const charges = entries.filter(({ kind }) => kind === 'charge');
  const refunds = entries.filter(({ kind }) => kind === 'refund');
  return {
    charges: charges.map(({ amount }) => -moneyFromDatabase(amount)),
    refunds: refunds.filter((entry) => !entry.is_by_hand).map(({ amount }) => moneyFromDatabase(amount)),
    refundsByHand: refunds.filter((entry) => entry.is_by_hand).map(({ amount }) => moneyFromDatabase(amount)),
    isEstimated: charges.some(({ is_estimated: isEstimated }) => isEstimated),
  };
}

function writeOffOf(row: WriteOffRow | undefined): RecordedGeneration['writeOff'] {
  if (row === undefined) return null;
  return { reason: row.reason, amount: row.amount === null ? null : moneyFromDatabase(row.amount) };
}
