/** Usage as comma-separated values (RFC 4180), for people who open it in a spreadsheet. */
import { formatMoney } from '../../lib/money.ts';
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
  ]);
}

/**
 * Where a cell begins like a formula: at the start of a name, and after whatever separates cells in some place of the
 * world, because quotes do not hold for a reader who separates by another sign. Full-width forms are taken for the same.
 */
const formulaStart = /(?<=^|[,;|\t\r\n])(?=[\s"]*[=+\-@＝＋－＠])|^(?=[\t\r\n])/g;

/** A spreadsheet computes what begins like a formula, and a name is anyone's choice. After an apostrophe it is a text. */
export function asText(name: string): string {
  return name.replaceAll(formulaStart, "'");
}

function lineOf(cells: readonly string[]): string {
  return `${cells.join(',')}\r\n`;
}

export function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}
