/** The commands about the ledger: `tollgate ledger …`. */
import { join, resolve } from 'node:path';
import type { SQL } from 'bun';
import { addUpAll, archiveMonths } from '../audit/archive.ts';
import { auditArchives } from '../audit/archive-audit.ts';
import type { InvariantResult } from '../audit/audit.ts';
import { isRepairable } from '../audit/counters.ts';
import { type Repair, repairCounters } from '../audit/repair.ts';
import { recordChange } from '../audit-log/audit-log.ts';
import { drawRest } from '../grants/upkeep.ts';
import { type DeadLetter, findDeadLetters, retryDeadLetters } from '../ledger/dead-letters.ts';
import { openLedger } from '../ledger/ledger.ts';
import { openSpool } from '../ledger/spool.ts';
import { newId, requestIdFromUuid } from '../lib/ids.ts';
import { createLog } from '../lib/log.ts';
import { formatMoney, formatMoneyShort } from '../lib/money.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { UsageError } from './arguments.ts';
import { describeScope, runAudit } from './audit-progress.ts';
import { type DatabaseCommand, formatTable } from './command.ts';
import { progressBar } from './progress-bar.ts';
import { shellActor } from './shell-user.ts';

const audit: DatabaseCommand = {
  name: 'ledger audit',
  summary:
    'Check every invariant of the ledger on what is new since the last sound audit, or with --full on everything, and list rejected settlements. Exit 0 only if all invariants hold.',
  options: [
    { name: 'full', value: null },
    { name: 'archive', value: 'FOLDER' },
  ],
  run: async (sql, words, _config, openDedicated) => {
    const audited = await runAudit(sql, openDedicated, words.flag('full'));
    const archived = await checkArchives(sql, words.text('archive'));
    const findings = [...audited.findings, ...archived];
    const isSound = findings.every(({ violations }) => violations === 0);
    const { since } = audited;
    const letters = await findDeadLetters(sql);
    return {
      json: {
        holds: isSound,
        since: since?.toISOString() ?? null,
        invariants: findings,
        repair: canRepair(findings) ? repairCommand : null,
        dead_letters: letters.map(presentLetter),
      },
      text: [
        formatFindings(findings),
        describeScope(since),
        isSound ? 'The ledger is sound.' : 'The ledger is BROKEN.',
        ...(canRepair(findings) ? [describeRepairable(findings)] : []),
        ...(letters.length === 0 ? [] : ['', formatLetters(letters)]),
      ].join('\n'),
      exitCode: isSound ? 0 : 1,
    };
  },
};

async function checkArchives(sql: SQL, folder: string | null): Promise<InvariantResult[]> {
  if (folder === null) return [];
  const bar = progressBar(process.stderr);
  try {
    return await auditArchives(sql, resolve(folder), bar.show);
  } finally {
    bar.clear();
  }
}

const repairCommand = 'tollgate ledger repair';

const canRepair = (findings: readonly InvariantResult[]) =>
  findings.some(({ invariant, violations }) => violations > 0 && isRepairable(invariant));

function describeRepairable(findings: readonly InvariantResult[]): string {
  const broken = findings.filter(({ violations }) => violations > 0);
  const repairable = broken.filter(({ invariant }) => isRepairable(invariant));
  const which = repairable.length === broken.length ? 'All of this' : 'Some of this';
  const names = repairable.map(({ invariant }) => `  ${invariant}`).join('\n');
  return `${which} can be repaired. Run: ${repairCommand}\n${names}`;
}

function formatFindings(findings: readonly InvariantResult[]): string {
  const rows = findings.map(({ invariant, checked, violations }) => [
    violations === 0 ? 'holds' : 'BROKEN',
    `${checked}`,
    `${violations}`,
    invariant,
  ]);
  return formatTable(['', 'CHECKED', 'BROKEN', 'INVARIANT'], rows);
}

function presentLetter(letter: DeadLetter) {
  return {
    request_id: requestIdFromUuid(letter.generationId),
    account_id: letter.accountId,
    amount: letter.amount === null ? null : formatMoney(letter.amount),
    refusal_code: letter.error.code,
    refusal_about: letter.error.about,
    created_at: letter.createdAt.toISOString(),
  };
}

function formatLetters(letters: readonly DeadLetter[]): string {
  const rows = letters.map((letter) => [
    letter.createdAt.toISOString(),
    requestIdFromUuid(letter.generationId),
    letter.accountId,
    letter.amount === null ? '-' : formatMoneyShort(letter.amount),
    letter.error.code,
    letter.error.about,
  ]);
  const heading = `${countOf(letters.length)} rejected by the database and set aside. Nothing was charged for them, and nothing is held.`;
  const table = formatTable(['SET ASIDE', 'REQUEST', 'ACCOUNT', 'AMOUNT', 'CODE', 'ABOUT'], rows);
  return `${heading}\n${table}\nRetry them with: tollgate ledger retry`;
}

function countOf(count: number): string {
  return count === 1 ? '1 settlement was' : `${count} settlements were`;
}

const repair: DatabaseCommand = {
  name: 'ledger repair',
  summary:
    'Recount what is held and open, and what keys have spent this month, and correct the counters that are wrong. Never changes a balance. With --dry-run, only shows what is wrong.',
  options: [{ name: 'dry-run', value: null }],
  run: async (_sql, words, config, openDedicated) => {
    const isDryRun = words.flag('dry-run');
    const actor = shellActor(config);
    const repairs = await repairCounters(openDedicated, {
      isDryRun,
      record: (transaction, { accountId, keyId, counter, was, is }) =>
        recordChange(transaction, actor, {
          action: 'repair_ledger',
          accountId,
          ...(keyId === null ? {} : { object: { type: 'key', id: keyId } }),
          before: { [counter]: was },
          after: { [counter]: is },
        }),
    });
    return {
      json: { dry_run: isDryRun, repairs: repairs.map(presentRepair) },
      text: describeRepairs(repairs, isDryRun),
    };
  },
};

function presentRepair({ accountId, keyId, counter, was, is }: Repair) {
  return { account_id: accountId, key_id: keyId, counter, was, is };
}

function describeRepairs(repairs: readonly Repair[], isDryRun: boolean): string {
  if (repairs.length === 0) return 'All counters are correct. Nothing was changed.';
  const rows = repairs.map(({ accountId, keyId, counter, was, is }) => [
    accountId,
    keyId ?? '-',
    counter,
    was,
    is,
  ]);
  return [
    formatTable(['ACCOUNT', 'KEY', 'COUNTER', isDryRun ? 'IS' : 'WAS', isDryRun ? 'SHOULD BE' : 'IS'], rows),
    isDryRun
      ? 'Nothing was changed. To correct this: tollgate ledger repair'
      : 'Corrected. To check: tollgate ledger audit',
  ].join('\n');
}

const retry: DatabaseCommand = {
  name: 'ledger retry',
  summary: 'Retry the settlements that the database rejected. Exit 0 only if none is rejected again.',
  run: async (sql, _words, config, openDedicated) => {
    // The audit shows why something was rejected, so nothing is logged here.
    const log = createLog('error', () => undefined);
    const ledger = openLedger(openDedicated, openSpool(config.dataFolder, process.pid, newId()), log);
    try {
      // Recorded beforehand, because each settlement is its own transaction.
      if ((await findDeadLetters(sql)).length > 0)
        await recordChange(sql, shellActor(config), { action: 'retry_settlements' });
      const outcome = await retryDeadLetters(sql, ledger);
      return { json: outcome, text: describeRetry(outcome), exitCode: outcome.refused === 0 ? 0 : 1 };
    } finally {
      await ledger.close();
    }
  },
};

function describeRetry({ settled, refused }: Readonly<{ settled: number; refused: number }>): string {
  if (settled + refused === 0) return 'No settlements are set aside.';
  const outcome = `${settled} settled, ${refused} rejected again.`;
  return refused === 0 ? outcome : `${outcome} tollgate ledger audit shows why.`;
}

const archive: DatabaseCommand = {
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
    await addUpAll(sql);
    await drawRest(sql);
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

export const ledgerCommands = [audit, repair, retry, archive];
