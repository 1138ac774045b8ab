/** Usage as comma-separated values (RFC 4180), for people who open it in a spreadsheet. */
import { formatMoney } from '../../lib/money.ts';
import type { DayUsage } from './usage-queries.ts';

export const csvHeader = csvLine([
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
  return csvLine([
    row.day,
    asText(row.model),
    row.keyId,
    asText(row.keyName),
    `${row.requests}`,
    `${row.inputTokens}`,
    `${row.outputTokens}`,
    `${row.images}`,
    formatMoney(row.cost),
  ]);
}

/** Their full-width forms are taken for the same in some places of the world. */
const formulaPattern = /^\s*[=+\-@＝＋－＠]|^[\t\r\n]/;

/** A spreadsheet computes what begins like a formula, and a name is anyone's choice. After an apostrophe it is a text. */
export function asText(name: string): string {
  return formulaPattern.test(name) ? `'${name}` : name;
}

function csvLine(fields: readonly string[]): string {
  return `${fields.map(quoted).join(',')}\r\n`;
}

export function quoted(field: string): string {
  return /[",\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field;
}
