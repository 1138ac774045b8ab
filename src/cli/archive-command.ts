/** `tollgate ledger archive`, and the part of the audit that is about its files. */
import { join, resolve } from 'node:path';
import type { SQL } from 'bun';
import { addUpAllUsage, archiveMonths } from '../audit/archive.ts';
import { auditArchives } from '../audit/archive-audit.ts';
import type { InvariantResult } from '../audit/audit.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { UsageError } from './arguments.ts';
import { runAudit } from './audit-progress.ts';
import { type DatabaseCommand, formatTable } from './command.ts';
import { progressBar } from './progress-bar.ts';

export const archive: DatabaseCommand = {
  name: 'ledger archive',
  summary:
    'Audit the ledger, then move closed months to files in a folder (default: archive in the data folder), and keep a checkpoint of each in the database. The current and the previous month stay.',
  options: [
    { name: 'before', value: 'YYYY-MM' },
    { name: 'to', value: 'FOLDER' },
  ],
  run: async (sql, words, config, openDedicated) => {
    const before = readMonth(words.text('before'));
    const folder = resolve(words.text('to') ?? join(config.dataFolder, 'archive'));
    await addUpAllUsage(sql);
    const { isSound } = await runAudit(sql, openDedicated, false);
    if (!isSound)
      throw new OperatorError('The ledger is broken: see tollgate ledger audit. Nothing was archived.');
    const bar = progressBar(process.stderr);
    try {
      const months = await archiveMonths(openDedicated, { before, folder, onStep: bar.show });
      bar.clear();
      const rows = months.map((month) => [
        month.file,
        month.beginsOn ?? '-',
        month.endsOn,
        `${month.entryCount}`,
        `${month.sizeBytes}`,
      ]);
      return {
        json: {
          archives: months.map((month) => ({
            file: month.file,
            begins_on: month.beginsOn,
            ends_on: month.endsOn,
            ledger_entries: month.entryCount,
            usage_records: month.recordCount,
            size_bytes: month.sizeBytes,
          })),
        },
        text:
          months.length === 0
            ? 'There are no months to archive.'
            : `${formatTable(['FILE', 'FROM', 'BEFORE', 'ENTRIES', 'BYTES'], rows)}\nThese months are no longer in the database. Keep the files: tollgate ledger audit --archive FOLDER checks them.`,
      };
    } finally {
      bar.clear();
    }
  },
};

/** The first day of the month. */
function readMonth(text: string | null): string | null {
  if (text === null) return null;
  if (/^\d{4}-(0[1-9]|1[0-2])$/.test(text)) return `${text}-01`;
  throw new UsageError(`--before must be a month such as 2027-01, but is "${text}".`);
}

export async function checkArchives(sql: SQL, folder: string | null): Promise<InvariantResult[]> {
  if (folder === null) return [];
  const bar = progressBar(process.stderr);
  try {
    return await auditArchives(sql, resolve(folder), bar.show);
  } finally {
    bar.clear();
  }
}
