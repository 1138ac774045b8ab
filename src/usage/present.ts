/** Usage as the API returns it. Costs are JSON numbers with all of their 12 decimals. */

import { rawJson } from '../json/raw.ts';
import { formatMoneyShort, type Money } from '../lib/money.ts';
import type { BilledUsage } from './usage-store.ts';

type Figures = Readonly<{ requests: bigint; inputTokens: bigint; outputTokens: bigint; cost: Money }>;

/** The totals cover these records only. */
export function presentUsage(records: readonly BilledUsage[]) {
  return {
    object: 'list',
    data: records.map((record) => ({
      id: record.id,
      date: record.billedAt.toISOString(),
      model: record.model,
      ...presentFigures({ ...record, requests: 1n }),
    })),
    totals: presentFigures(records.reduce(add, nothing)),
  };
}

const nothing: Figures = { requests: 0n, inputTokens: 0n, outputTokens: 0n, cost: 0n };

function add(sum: Figures, record: BilledUsage): Figures {
  return {
    requests: sum.requests + 1n,
    inputTokens: sum.inputTokens + record.inputTokens,
    outputTokens: sum.outputTokens + record.outputTokens,
    cost: sum.cost + record.cost,
  };
}

function presentFigures({ requests, inputTokens, outputTokens, cost }: Figures) {
  return {
    requests: rawJson(`${requests}`),
    input_tokens: rawJson(`${inputTokens}`),
    output_tokens: rawJson(`${outputTokens}`),
    total_tokens: rawJson(`${inputTokens + outputTokens}`),
    cost: rawJson(formatMoneyShort(cost)),
  };
}
