/** Usage as comma-separated values (RFC 4180), for people who open it in a spreadsheet. */
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
    quoted(asText(row.model)),
    quoted(row.keyId),
    quoted(asText(row.keyName)),
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

/**
 * Where a cell starts like a formula: at the start of a name, and after any character that separates cells in some
 * locale, because quotes do not protect from a reader with another separator. Full-width forms count as well.
 */
const formulaStart = /(?<=^|[,;|\t\r\n])(?=[\s"]*[=+\-@＝＋－＠])|^(?=[\t\r\n])/g;

/** A spreadsheet evaluates what starts like a formula, and users choose names freely. An apostrophe makes it text. */
export function asText(name: string): string {
  return name.replaceAll(formulaStart, "'");
}

export function lineOf(cells: readonly string[]): string {
  return `${cells.join(',')}\r\n`;
}

export function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}
