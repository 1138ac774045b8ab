import { recordShellAction } from '../accounts/operator-log.ts';
import type { InvariantResult } from '../audit/audit.ts';
import { isRepairable } from '../audit/counters.ts';
import { type DeadLetter, findDeadLetters, retryDeadLetters } from '../ledger/dead-letters.ts';
import { openLedger } from '../ledger/ledger.ts';
import { openSpool } from '../ledger/spool.ts';
import { newId, requestIdFromUuid } from '../lib/ids.ts';
import { createLog } from '../lib/log.ts';
import { formatMoney, formatMoneyShort } from '../lib/money.ts';
import { archive, checkArchives } from './archive-command.ts';
import { describeScope, runAudit } from './audit-progress.ts';
import { type DatabaseCommand, formatTable } from './command.ts';
import { repair } from './repair-command.ts';
import { shellUserOf } from './shell-user.ts';

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
        ...(canRepair(findings) ? [describeRepair(findings)] : []),
        ...(letters.length === 0 ? [] : ['', formatLetters(letters)]),
      ].join('\n'),
      exitCode: isSound ? 0 : 1,
    };
  },
};

const retry: DatabaseCommand = {
  name: 'ledger retry',
  summary: 'Retry the settlements that the database rejected. Exit 0 only if none is rejected again.',
  run: async (sql, _words, config, openDedicated) => {
    // The audit shows why something was rejected, so nothing is logged here.
    const log = createLog('error', () => undefined);
    const ledger = openLedger(openDedicated, openSpool(config.dataFolder, process.pid, newId()), log);
    try {
      // Before it is done, because each settlement is a transaction of its own.
      if ((await findDeadLetters(sql)).length > 0)
        await recordShellAction(sql, shellUserOf(config), { action: 'retry_settlements' });
      const outcome = await retryDeadLetters(sql, ledger);
      return { json: outcome, text: describeRetry(outcome), exitCode: outcome.refused === 0 ? 0 : 1 };
    } finally {
      await ledger.close();
    }
  },
};

const repairCommand = 'tollgate ledger repair';

const canRepair = (findings: readonly InvariantResult[]) =>
  findings.some(({ invariant, violations }) => violations > 0 && isRepairable(invariant));

function describeRepair(findings: readonly InvariantResult[]): string {
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

function describeRetry({ settled, refused }: Readonly<{ settled: number; refused: number }>): string {
  if (settled + refused === 0) return 'No settlements are set aside.';
  const outcome = `${settled} settled, ${refused} rejected again.`;
  return refused === 0 ? outcome : `${outcome} tollgate ledger audit shows why.`;
}

function countOf(count: number): string {
  return count === 1 ? '1 settlement was' : `${count} settlements were`;
}

export const ledgerCommands = [audit, repair, retry, archive];
