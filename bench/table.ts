import { median } from './statistics.ts';

/** A table as text with aligned columns, which is also valid Markdown. */
export function formatTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, column) =>
    Math.max(3, title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const isText = header.map((_, column) => rows.every((row) => !/^[+−\d]/.test(row[column] ?? '')));
  const line = (cells: readonly string[]) =>
    `| ${widths
      .map((width, column) => {
        const cell = cells[column] ?? '';
        return isText[column] ? cell.padEnd(width) : cell.padStart(width);
      })
      .join(' | ')} |`;
  const rule = widths.map((width, column) =>
    isText[column] ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  return [line(header), line(rule), ...rows.map(line)].join('\n');
}

/** Three significant digits, with thousands separators; a dash for what was not measured. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const magnitude = Math.abs(value);
  const decimals = magnitude >= 100 ? 0 : magnitude >= 10 ? 1 : 2;
  return value.toLocaleString('en-US', { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

export function formatAdded(value: number): string {
  if (!Number.isFinite(value)) return '–';
  return `${value < 0 ? '−' : '+'}${formatNumber(Math.abs(value))}`;
}

/** The median, and the lowest and the highest of them. */
export function formatSpread(values: readonly number[]): string {
  const middle = median(values);
  if (!Number.isFinite(middle)) return '–';
  return `${formatNumber(middle)} (${formatNumber(Math.min(...values))}–${formatNumber(Math.max(...values))})`;
}
