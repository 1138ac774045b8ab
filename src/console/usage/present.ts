/** Usage in the words of the console's contract. */
import { formatMoney } from '../../lib/money.ts';
import type { Usage, UsageFigures } from '../contract.ts';
import type { DayRange } from './parse.ts';
import type { DayUsage, Figures } from './usage-queries.ts';

export function presentUsage({ from, to }: DayRange, rows: readonly DayUsage[]): Usage {
  return {
    from,
    to,
    totals: presentFigures(rows.reduce(add, nothing)),
    rows: rows.map((row) => ({
      day: row.day,
      model: row.model,
      key_id: row.keyId,
      key_name: row.keyName,
      ...presentFigures(row),
    })),
  };
}

const nothing: Figures = { requests: 0n, inputTokens: 0n, outputTokens: 0n, images: 0n, cost: 0n };

function add(sum: Figures, row: Figures): Figures {
  return {
    requests: sum.requests + row.requests,
    inputTokens: sum.inputTokens + row.inputTokens,
    outputTokens: sum.outputTokens + row.outputTokens,
    images: sum.images + row.images,
    cost: sum.cost + row.cost,
  };
}

function presentFigures({ requests, inputTokens, outputTokens, images, cost }: Figures): UsageFigures {
  return {
    requests: Number(requests),
    input_tokens: Number(inputTokens),
    output_tokens: Number(outputTokens),
    images: Number(images),
    cost: formatMoney(cost),
  };
}
