/** Exports as files: `tollgate export …`. */
import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import { type Format, formats, headerOf } from '../exports/columns.ts';
import { exportSources } from '../exports/exports.ts';
import { type ExportPiece, exportPieces } from '../exports/pieces.ts';
import { endOf, findLatestEnd } from '../exports/range.ts';
import { type ExportName, type ExportOrder, exportNames } from '../exports/source.ts';
import { isDatabaseUnavailable } from '../lib/database-unavailable.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { type Arguments, readAccountId, readTime, UsageError } from './arguments.ts';
import type { DatabaseCommand, Outcome } from './command.ts';
import { type ExportOutput, openExportFile, readBegun, standardOutput } from './export-output.ts';

const subjects: Readonly<Record<ExportName, string>> = {
  generations: 'Generations, by the time at which they began',
  usage: 'every charge with its tokens, its cost and what was refunded of it',
  entries: 'ledger entries, by account and number',
  audit_log: 'who changed what',
};

export const exportCommands: readonly DatabaseCommand[] = exportNames.map((name) => ({
  name: `export ${name.replace('_', '-')}`,
  summary: `Export ${subjects[name]}, of one account or of all of them. Without --output it goes to standard output. If the database is away for a while, the export waits for it; one that was interrupted goes on with --resume.`,
  options: [
    { name: 'from', value: 'ISO', required: true },
    { name: 'to', value: 'ISO (a minute ago)' },
    { name: 'account', value: 'ID' },
    { name: 'format', value: `${formats.join('|')} (csv)` },
    { name: 'output', value: 'FILE' },
    { name: 'resume', value: null },
  ],
  run: async (sql, words, _config, _openDedicated, reads) => {
    const isResumed = words.flag('resume');
    const file = words.text('output');
    if (file === null && isResumed) throw new UsageError('--resume needs --output.');
    const begun = file !== null && isResumed ? readBegun(file) : null;
    const order = await readOrder(sql, words, begun?.to);
    const format = readFormat(words.text('format') ?? 'csv');
    return await runExport(name, order, format, words, reads);
  },
}));

async function runExport(
  name: ExportName,
  order: ExportOrder,
  format: Format,
  words: Arguments,
  reads: () => SQL,
): Promise<Outcome | null> {
  const source = exportSources[name];
  const file = words.text('output');
  const header = headerOf(format, source.columns(order.isOperator));
  const [from, to] = [order.from.toISOString(), order.to.toISOString()];
  const content = { name, account: order.accountId, from, to, format };
  const output =
    file === null
      ? standardOutput()
      : openExportFile({ file, content, header, isResumed: words.flag('resume') });
  if (output.after !== null && !source.isCursor(output.after, order))
    throw new OperatorError(`${output.name} is not a part of this export: it ends with ${output.after}.`);
  try {
    const rowCount = await writeAll(output, (after) => exportPieces(reads, { source, order, format, after }));
    output.finish();
    if (file === null) return null;
    return {
      json: { file, lines: rowCount, to },
      text: `${rowCount} lines were added to ${file}. The export ends before ${to}.`,
    };
  } catch (error) {
    output.leave();
    throw error instanceof ApiError ? new OperatorError(error.message) : error;
  }
}

const awayMs = 10 * 60 * 1000;
const retryMs = 1_000;

/** Goes on where it was when the database is back. */
async function writeAll(
  output: ExportOutput,
  piecesAfter: (after: string | null) => AsyncGenerator<ExportPiece, undefined>,
): Promise<number> {
  let rowCount = 0;
  let position = output.after;
  let lastMs = performance.now();
  for (;;) {
    try {
      for await (const piece of piecesAfter(position)) {
        await output.write(piece.text);
        rowCount += piece.rowCount;
        position = piece.next ?? position;
        lastMs = performance.now();
      }
      return rowCount;
    } catch (error) {
      if (!isDatabaseUnavailable(error) || performance.now() - lastMs > awayMs) throw error;
      await Bun.sleep(retryMs);
    }
  }
}

/** One that was begun ends where it was to end then. */
async function readOrder(sql: SQL, words: Arguments, begunTo: unknown): Promise<ExportOrder> {
  const account = words.text('account');
  const accountId = account === null ? null : readAccountId(account, '--account');
  const from = readTime(words.text('from') ?? '', '--from');
  const toText = words.text('to') ?? (typeof begunTo === 'string' ? begunTo : null);
  const to = endOf(toText === null ? null : readTime(toText, '--to'), await findLatestEnd(sql));
  if (from >= to) throw new UsageError('--from must be before --to, and more than a minute ago.');
  if (accountId !== null) {
    const found = await sql`select 1 from accounts where id = ${accountId}`;
    if (found.length === 0) throw new OperatorError(`There is no account ${accountId}.`);
  }
  // Whoever can run this command can read the database.
  return { isOperator: true, accountId, from, to };
}

function readFormat(text: string): Format {
  const format = formats.find((candidate) => candidate === text);
  if (format !== undefined) return format;
  throw new UsageError(`--format must be ${formats.join(' or ')}, but is "${text}".`);
}
