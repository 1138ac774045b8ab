/** `tollgate ledger repair` */
import { recordShellAction } from '../accounts/operator-log.ts';
import { type Repair, repairCounters } from '../audit/repair.ts';
import { type DatabaseCommand, formatTable } from './command.ts';
import { shellUserOf } from './shell-user.ts';

export const repair: DatabaseCommand = {
  name: 'ledger repair',
  summary:
    'Recount what is held and open, and what keys have spent this month, and correct the counters that are wrong. Never changes a balance. With --dry-run, only shows what is wrong.',
  options: [{ name: 'dry-run', value: null }],
  run: async (_sql, words, config, openDedicated) => {
    const isDryRun = words.flag('dry-run');
    const shellUser = shellUserOf(config);
    const repairs = await repairCounters(openDedicated, {
      isDryRun,
      record: (transaction, { accountId, keyId }) =>
        recordShellAction(transaction, shellUser, {
          action: 'repair_ledger',
          accountId,
          ...(keyId === null ? {} : { keyId }),
        }),
    });
    return {
      json: { dry_run: isDryRun, repairs: repairs.map(present) },
      text: describe(repairs, isDryRun),
    };
  },
};

function present({ accountId, keyId, counter, was, is }: Repair) {
  return { account_id: accountId, key_id: keyId, counter, was, is };
}

function describe(repairs: readonly Repair[], isDryRun: boolean): string {
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
