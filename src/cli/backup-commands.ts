/** Backups of the embedded database. An operator's own PostgreSQL has better tools. */
import { accessSync, constants, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Config } from '../config.ts';
import { backUp } from '../database/backup.ts';
import { openDatabase, openExistingDatabase } from '../database/connection.ts';
import { requireMigrated } from '../database/migrate.ts';
import { type CheckedBackup, checkBackup, restore, restoreFiles } from '../database/restore.ts';
import { explainFileError } from '../lib/file-error.ts';
import { describeFile } from '../lib/gzip-lines.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { runAudit } from './audit-progress.ts';
import type { LocalCommand } from './command.ts';
import { progressBar } from './progress-bar.ts';

const force = { name: 'force', value: null } as const;

const backup: LocalCommand = {
  name: 'backup',
  summary:
    'Copy the embedded database and its secret to one file, whether or not a gateway is running. Keep the file safe.',
  positionals: ['FILE'],
  options: [force],
  runLocally: async (config, words) => {
    requireEmbedded(config, 'pg_dump');
    const file = resolve(words.positionals[0] ?? '');
    requireWritable(file, words.flag('force'));
    const database = await openExistingDatabase(config);
    const bar = progressBar(process.stderr);
    try {
      await requireMigrated(database.sql);
      const { tables, rows } = await backUp(database.sql, config.dataFolder, file, bar.show).catch(
        (error: unknown) => {
          throw explainFileError(error, file, 'written');
        },
      );
      // A file that cannot be read again is not a backup.
      await checkBackup(file);
      bar.clear();
      const { sizeBytes, sha256 } = await describeFile(file);
      return {
        json: { file, tables, rows, size_bytes: sizeBytes, sha256 },
        text: `${rows} rows of ${tables} tables are in ${file} (${sizeBytes} bytes). The file contains secrets: keep it as safe as the data folder.`,
      };
    } finally {
      bar.clear();
      await database.close();
    }
  },
};

const restoreCommand: LocalCommand = {
  name: 'restore',
  summary:
    'Restore a backup into an empty embedded database, or with --force over an existing one, and audit the ledger.',
  positionals: ['FILE'],
  options: [force],
  runLocally: async (config, words) => {
    requireEmbedded(config, 'pg_restore');
    const checked = await checkBackup(resolve(words.positionals[0] ?? ''));
    const database = await openDatabase(config);
    const bar = progressBar(process.stderr);
    try {
      const applied = await restore(database.sql, checked, {
        isForced: words.flag('force'),
        onRows: bar.show,
      });
      bar.clear();
      putBackFiles(checked, config.dataFolder);
      const { isSound } = await runAudit(database.sql, database.openDedicated, true);
      const rows = [...checked.counts.values()].reduce((sum, count) => sum + count, 0);
      return {
        json: { rows, created_at: checked.header.created_at, migrations_applied: applied, holds: isSound },
        text: [
          `${rows} rows were restored, as of ${checked.header.created_at}.`,
          ...(applied.length > 0 ? [`The schema was brought up to date: ${applied.join(', ')}.`] : []),
          isSound ? 'The ledger is sound.' : 'The ledger is BROKEN: see tollgate ledger audit --full',
        ].join('\n'),
        exitCode: isSound ? 0 : 1,
      };
    } finally {
      bar.clear();
      await database.close();
    }
  },
};

/** Checked before the work is done, not after it. */
function requireWritable(file: string, isForced: boolean): void {
  try {
    const found = statSync(file, { throwIfNoEntry: false });
    if (found?.isDirectory()) throw new OperatorError(`${file} cannot be written: it is a folder.`);
    if (found !== undefined && !isForced)
      throw new OperatorError(`${file} already exists: choose another file, or replace it with --force.`);
    accessSync(dirname(file), constants.W_OK);
  } catch (error) {
    throw explainFileError(error, file, 'written');
  }
}

function putBackFiles(checked: CheckedBackup, dataFolder: string): void {
  try {
    restoreFiles(checked, dataFolder);
  } catch (error) {
    throw explainFileError(error, dataFolder, 'written');
  }
}

function requireEmbedded({ databaseUrl }: Config, program: string): void {
  if (databaseUrl !== null)
    throw new OperatorError(
      `This command is only for the embedded database, but DATABASE_URL is set: use ${program} instead. docs/deployment.md explains how.`,
    );
}

export const backupCommands = [backup, restoreCommand];
