import { auditLedger } from '../ledger/audit.ts';
import { type DatabaseCommand, formatTable } from './command.ts';

const audit: DatabaseCommand = {
  name: 'ledger audit',
  summary: 'Check every invariant of the ledger; exit 0 only if all hold.',
  run: async (sql) => {
    const findings = await auditLedger(sql);
    const holds = findings.every((finding) => finding.violations === 0);
    const rows = findings.map(({ invariant, checked, violations }) => [
      violations === 0 ? 'holds' : 'BROKEN',
      `${checked}`,
      `${violations}`,
      invariant,
    ]);
    return {
      json: { holds, invariants: findings },
      text: `${formatTable(['', 'CHECKED', 'BROKEN', 'INVARIANT'], rows)}\n${holds ? 'The ledger is sound.' : 'The ledger is BROKEN.'}`,
      exitCode: holds ? 0 : 1,
    };
  },
};

export const ledgerCommands = [audit];
