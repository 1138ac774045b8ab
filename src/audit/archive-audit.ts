/** Checks the files of archived months against what the database knows about them. */
import { join } from 'node:path';
import type { SQL } from 'bun';
import { describeFile } from '../lib/gzip-lines.ts';
import { formatMoney } from '../lib/money.ts';
import { type ArchiveContent, readArchive } from './archive-file.ts';
import type { InvariantResult } from './audit.ts';

type ArchiveRow = { id: string; file_name: string; digest: string; ends_on: string };

/** One finding per archive. A file that is missing or damaged is one violation. */
export async function auditArchives(
  sql: SQL,
  folder: string,
  onStep: (done: number, total: number, label: string) => void = () => undefined,
): Promise<InvariantResult[]> {
  const archives = await sql<ArchiveRow[]>`
    select id, file_name, encode(digest, 'hex') as digest, ends_on::text from ledger_archives order by ends_on`;
  const findings: InvariantResult[] = [];
  for (const archive of archives) {
    onStep(findings.length, archives.length, archive.file_name);
    const { checked, violations } = await checkArchive(sql, folder, archive);
    findings.push({ invariant: `${archive.file_name} has what was archived`, checked, violations });
  }
  return findings;
}

async function checkArchive(
  sql: SQL,
  folder: string,
  archive: ArchiveRow,
): Promise<{ checked: number; violations: number }> {
  const file = join(folder, archive.file_name);
  let content: ArchiveContent;
  try {
    const { sha256 } = await describeFile(file);
    if (sha256 !== archive.digest) return { checked: 0, violations: 1 };
    content = await readArchive(file);
  } catch {
    return { checked: 0, violations: 1 };
  }
  const rows = await sql<RangeRow[]>`
    select account_id, first_number::text, last_number::text, balance_before::text, balance_after::text
    from ledger_archive_accounts where archive_id = ${archive.id}`;
  const wrong = rows.filter((row) => !isSameRange(row, content)).length;
  const unknown = content.ranges.size > rows.length ? content.ranges.size - rows.length : 0;
  return { checked: content.entryCount, violations: content.violations + wrong + unknown };
}

type RangeRow = {
  account_id: string;
  first_number: string;
  last_number: string;
  balance_before: string;
  balance_after: string;
};

function isSameRange(row: RangeRow, { ranges }: ArchiveContent): boolean {
  const range = ranges.get(row.account_id);
  return (
    range !== undefined &&
    `${range.firstNumber}` === row.first_number &&
    `${range.lastNumber}` === row.last_number &&
    formatMoney(range.balanceBefore) === row.balance_before &&
    formatMoney(range.balanceAfter) === row.balance_after
  );
}
