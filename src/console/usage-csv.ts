/** Usage as comma-separated values. */
import { lineOf, quoted, textCell } from '../lib/csv.ts';
import { formatMoney } from '../lib/money.ts';
import type { DayUsage } from './usage-queries.ts';

export const csvHeader = lineOf([
  'day',
  'model',
  'key_id',
  'key_name',
  'requests',
  'input_tokens',
  'output_tokens',
  'images',
  'cost_usd',
  // Columns that were added later come last, so that programs that count them keep working.
  'cache_read_tokens',
  'cache_write_tokens',
  'cache_saved_usd',
]);

export function csvRow(row: DayUsage): string {
  return lineOf([
    row.day,
    textCell(row.model),
    quoted(row.keyId),
    textCell(row.keyName),
    `${row.requests}`,
    `${row.inputTokens}`,
    `${row.outputTokens}`,
    `${row.images}`,
    formatMoney(row.cost),
    `${row.cacheReadTokens}`,
    `${row.cacheWriteTokens}`,
    formatMoney(row.cacheSaved),
  ]);
}
