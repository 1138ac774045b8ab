/** Records what decisions cost the operator: a provider bills the calls to a chat model, and no customer is charged for them. */
import type { SQL } from 'bun';
import type { ProviderUsage } from '../ledger/operations.ts';
import { newId } from '../lib/ids.ts';
import type { Log } from '../lib/log.ts';
import { formatMoney } from '../lib/money.ts';
import { within } from '../lib/within.ts';
import type { ActiveCatalog } from '../routing/active-catalog.ts';

/** `provider` is its name, as in usage records. */
type DecisionCall = Readonly<{ model: string; provider: string; used: ProviderUsage }>;

export type RecordCall = (call: DecisionCall) => Promise<void>;

/** Somebody waits for the decision. */
const patienceMs = 2_000;

/** Never fails: a decision is worth more than its record. */
export function recordCallsIn(
  sql: SQL,
  { priceList }: Pick<ActiveCatalog, 'priceList'>,
  log: Log,
): RecordCall {
  return async (call) => {
    try {
      await within(patienceMs, store(sql, call, priceList.knownId ?? (await priceList.store())));
    } catch (error) {
      const { model, provider } = call;
      log.warn('the cost of a decision was not recorded', { model, provider, error });
    }
  };
}

async function store(sql: SQL, { model, provider, used }: DecisionCall, priceListId: number): Promise<void> {
  const { usage, cost } = used;
  await sql`
    insert into decision_calls (id, model, provider, input_tokens, cache_read_tokens, cache_write_tokens,
      cache_write_long_tokens, output_tokens, cost, price_list_id)
    values (${newId()}, ${model}, ${provider}, ${usage?.inputTokens ?? null}::bigint,
      ${usage?.cached?.read ?? null}::bigint, ${usage?.cached?.write ?? null}::bigint,
      ${usage?.cached?.writeLong ?? null}::bigint, ${usage?.outputTokens ?? null}::bigint,
      ${cost === null ? null : formatMoney(cost)}::numeric, ${priceListId}::int)`;
}
