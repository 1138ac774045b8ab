/** Usage on any day, as if requests had been billed on it: the records, their charges and the balance after each. */
import type { SQL } from 'bun';
import { newId } from '../../src/lib/ids.ts';
import { formatMoney, type Money, moneyFromDatabase } from '../../src/lib/money.ts';

export type BilledUsage = Readonly<{
  keyId: string;
  model: string;
  billedAt: Date;
  inputTokens: number;
  outputTokens: number;
  /** Images instead of tokens. */
  images?: number;
  cost: Money;
  /** Null or absent when no cache was involved, as in old records. */
  cached?: Readonly<{ read: number; write: number; writeLong: number; saved: Money }> | null;
  /** Who served it, and what that provider asks for it. */
  provider?: string;
  providerCost?: Money;
  /** When the request started, if not when it was billed. */
  startedAt?: Date;
}>;

/** The balance must cover it. It is booked in a month long ago, so it counts towards no key's limit. */
export async function bill(sql: SQL, accountId: string, usages: readonly BilledUsage[]): Promise<void> {
  await sql.begin(async (transaction) => {
    await transaction`
      insert into price_lists (version, digest, content) select 'test', sha256('test'), '{}'
      where not exists (select 1 from price_lists)`;
    const [account] = await transaction<[{ balance: string; entry_count: bigint }]>`
      select balance, entry_count from accounts where id = ${accountId} for no key update`;
    let balance = moneyFromDatabase(account.balance);
    const rows = usages.map((usage, index) => {
      balance -= usage.cost;
      return {
        id: usage.startedAt === undefined ? newId() : Bun.randomUUIDv7('hex', usage.startedAt),
        number: Number(account.entry_count) + index + 1,
        key_id: usage.keyId,
        model: usage.model,
        input_tokens: usage.inputTokens,
        output_tokens: usage.outputTokens,
        units: usage.images ?? usage.inputTokens + usage.outputTokens,
        unit: usage.images === undefined ? 'tokens' : 'images',
        cost: formatMoney(usage.cost),
        cache_read_tokens: usage.cached?.read ?? null,
        cache_write_tokens: usage.cached?.write ?? null,
        cache_write_long_tokens: usage.cached?.writeLong ?? null,
        cache_saved: usage.cached ? formatMoney(usage.cached.saved) : null,
        balance_after: formatMoney(balance),
        billed_at: usage.billedAt.toISOString(),
        provider: usage.provider ?? null,
        provider_cost: usage.providerCost === undefined ? null : formatMoney(usage.providerCost),
      };
    });
    const text = JSON.stringify(rows);
    await transaction`
      insert into usage_records (id, account_id, key_id, model, input_tokens, output_tokens, units, unit, cost,
        price_list_id, month, billed_at, cache_read_tokens, cache_write_tokens, cache_write_long_tokens, cache_saved,
        provider, provider_cost)
      select id, ${accountId}, key_id, model, input_tokens, output_tokens, units, unit, cost,
             (select min(price_lists.id) from price_lists), '2000-01-01', billed_at, cache_read_tokens, cache_write_tokens,
             cache_write_long_tokens, cache_saved, provider, provider_cost
      from json_to_recordset(${text}::text::json) as row (id uuid, key_id uuid, model text, input_tokens bigint,
        output_tokens bigint, units bigint, unit text, cost numeric, billed_at timestamptz, cache_read_tokens bigint,
        cache_write_tokens bigint, cache_write_long_tokens bigint, cache_saved numeric,
        provider text, provider_cost numeric)`;
    await transaction`
      insert into ledger_entries (account_id, number, kind, amount, balance_after, generation_id)
      select ${accountId}, number, 'charge', -cost, balance_after, id
      from json_to_recordset(${text}::text::json) as row (id uuid, number bigint, cost numeric, balance_after numeric)`;
    await transaction`
      update accounts set balance = ${formatMoney(balance)}::numeric, entry_count = entry_count + ${rows.length}
      where id = ${accountId}`;
  });
}
