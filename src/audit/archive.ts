/**
 * Moves a closed month of the ledger to a file. The file is written from one snapshot, made durable and read back; then
 * the partitions are detached in one short transaction with the checkpoint that takes their place; and they are dropped
 * if they match the file. After a failure the month is in the database, in its file, or in both.
 */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ReservedSQL, SQL } from 'bun';
import { describeFile, type FileFacts, writeLines } from '../lib/gzip-lines.ts';
import { formatMoney } from '../lib/money.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { dropDetached, dropLeftovers, replaceByCheckpoint } from './archive-detach.ts';
import { type ArchiveContent, readArchive } from './archive-file.ts';
import { type ClosedMonths, findClosedMonths, findObstacle } from './archive-months.ts';
import { withoutAudits } from './lock.ts';

export type ArchivedMonths = Readonly<{
  file: string;
  beginsOn: string | null;
  endsOn: string;
  entryCount: number;
  recordCount: number;
  sizeBytes: number;
}>;

export type ArchiveOptions = Readonly<{
  /** A day; months that end later stay. */
  before: string | null;
  folder: string;
  onStep: (done: number, total: number, label: string) => void;
}>;

const rowsAtOnce = 2_000;
const addedUpAtOnce = 10_000;

/** The caller has added up all usage, then audited the ledger. Nobody audits or archives meanwhile. */
export async function archiveMonths(
  openDedicated: () => SQL,
  { before, folder, onStep }: ArchiveOptions,
): Promise<ArchivedMonths[]> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return await withoutAudits(openDedicated, async (connection) => {
    await dropLeftovers(connection, folder);
    const months = await findClosedMonths(connection, before);
    const archived: ArchivedMonths[] = [];
    for (const month of months) {
      onStep(archived.length, months.length, `before ${month.endsOn}`);
      const obstacle = await findObstacle(connection, month);
      if (obstacle !== null) throw new OperatorError(`The months before ${month.endsOn} stay: ${obstacle}.`);
      archived.push(await archiveMonth(connection, month, folder));
    }
    return archived;
  });
}

/**
 * Usage and statements by day are counted from entries and their records, so they are counted before these leave, and before
 * the audit, whose checkpoints then have the usage.
 */
export async function addUpAll(sql: SQL): Promise<void> {
  const used = await sql<{ id: string }[]>`
    select id from accounts left join usage_progress on account_id = id
    where entry_count > coalesce(least(entry_number, margin_entry_number), 0)`;
  for (const { id } of used)
    await untilDone(() => sql`select add_up_usage(${id}::uuid, ${addedUpAtOnce}::int)::int as count`);
  const stated = await sql<{ id: string }[]>`
    select id from accounts left join statement_progress on account_id = id
    where entry_count > coalesce(entry_number, 0)`;
  for (const { id } of stated)
    await untilDone(() => sql`select add_up_statement(${id}::uuid, ${addedUpAtOnce}::int)::int as count`);
}

async function untilDone(addUpSome: () => PromiseLike<[{ count: number }]>): Promise<void> {
  let count = addedUpAtOnce;
  while (count === addedUpAtOnce) [{ count }] = await addUpSome();
}

async function archiveMonth(
  connection: ReservedSQL,
  month: ClosedMonths,
  folder: string,
): Promise<ArchivedMonths> {
  const { beginsOn, endsOn } = month;
  const name = `ledger-${beginsOn === null ? 'to-' : ''}${monthBefore(endsOn)}.jsonl.gz`;
  const file = join(folder, name);
  if (existsSync(file))
    throw new OperatorError(`${file} already exists: move it away, or choose another folder.`);
  try {
    const chargedElsewhere = await writeFile(connection, month, file);
    const content = await readArchive(file);
    await requireSound(connection, content, name);
    const facts = await describeFile(file);
    writeManifest(file, month, content, facts);
    const id = await replaceByCheckpoint(connection, { month, chargedElsewhere, content, facts, name });
    await dropDetached(connection, { id, month, entryCount: content.entryCount });
    const { entryCount, recordCount } = content;
    return { file, beginsOn, endsOn, entryCount, recordCount, sizeBytes: facts.sizeBytes };
  } catch (error) {
    if (await isWithoutArchive(connection, endsOn)) {
      rmSync(file, { force: true });
      rmSync(manifestOf(file), { force: true });
    }
    throw error;
  }
}

/** Whether the month surely has no archive in the database. From then on, the file may be all that is left of it. */
async function isWithoutArchive(connection: ReservedSQL, endsOn: string): Promise<boolean> {
  return await connection`select 1 from ledger_archives where ends_on = ${endsOn}::text::date`.then(
    (rows: readonly unknown[]) => rows.length === 0,
    () => false,
  );
}

/**
 * Returns the usage records of this month that were charged in another one, because a request can end in a later month than
 * it began in.
 */
async function writeFile(
  connection: ReservedSQL,
  { suffix, beginsOn, endsOn }: ClosedMonths,
  file: string,
): Promise<string[]> {
  const [entries, records] = [`ledger_entries${suffix}`, `usage_records${suffix}`];
  const writer = writeLines(file);
  try {
    await connection.unsafe('begin isolation level repeatable read read only');
    writer.write(JSON.stringify({ tollgate_ledger_archive: 1, begins_on: beginsOn, ends_on: endsOn }));
    // Amounts and numbers as text, because not every reader of JSON keeps all of their digits.
    await connection.unsafe(`
      declare archive_rows cursor for
      select json_build_object(
        'entry', to_jsonb(entry) || jsonb_build_object('number', entry.number::text, 'amount', entry.amount::text,
          'balance_after', entry.balance_after::text),
        'usage', to_jsonb(used) || jsonb_build_object('cost', used.cost::text, 'cache_saved', used.cache_saved::text,
          'provider_cost', used.provider_cost::text, 'refunded', used.refunded::text))::text as line
      from "${entries}" as entry
      left join usage_records as used on used.id = entry.generation_id and entry.kind = 'charge'
      order by entry.account_id, entry.number`);
    for (;;) {
      const rows = await connection.unsafe<{ line: string }[]>(`fetch ${rowsAtOnce} from archive_rows`);
      if (rows.length === 0) break;
      for (const { line } of rows) writer.write(line);
    }
    const chargedElsewhere = await connection.unsafe<{ id: string }[]>(`
      select id from "${records}" as used where not exists (
        select 1 from "${entries}" where generation_id = used.id and kind = 'charge')`);
    await connection.unsafe('commit');
    writer.finish();
    return chargedElsewhere.map(({ id }) => id);
  } catch (error) {
    await connection.unsafe('rollback').catch(() => undefined);
    throw error;
  } finally {
    writer.abandon();
  }
}

/** Throws unless the file, as read back, continues where the last archive of each account ended. */
async function requireSound(
  connection: ReservedSQL,
  { ranges, violations }: ArchiveContent,
  name: string,
): Promise<void> {
  if (violations > 0)
    throw new OperatorError(`${violations} entries do not add up: see tollgate ledger audit --full`);
  const ends = await connection<
    { account_id: string; last_number: bigint | number; balance_after: string }[]
  >`
    select distinct on (account_id) account_id, last_number, balance_after from ledger_archive_accounts
    order by account_id, last_number desc`;
  const before = new Map(ends.map((end) => [end.account_id, end]));
  for (const [accountId, range] of ranges) {
    const end = before.get(accountId);
    const follows =
      range.firstNumber === BigInt(end?.last_number ?? 0) + 1n &&
      formatMoney(range.balanceBefore) === (end?.balance_after ?? formatMoney(0n));
    if (!follows)
      throw new OperatorError(
        `The entries of account ${accountId} in ${name} do not follow those that were archived before: entry ${range.firstNumber} is their first. The clock of the database may have been set back then.`,
      );
  }
}

const monthBefore = (day: string) => {
  const last = new Date(`${day}T00:00:00Z`);
  last.setUTCDate(0);
  return last.toISOString().slice(0, 7);
};

const manifestOf = (file: string) => file.replace(/\.jsonl\.gz$/, '.manifest.json');

function writeManifest(
  file: string,
  { beginsOn, endsOn }: ClosedMonths,
  { entryCount, recordCount, ranges }: ArchiveContent,
  { sizeBytes, sha256 }: FileFacts,
): void {
  const manifest = {
    begins_on: beginsOn,
    ends_on: endsOn,
    accounts: ranges.size,
    ledger_entries: entryCount,
    usage_records: recordCount,
    size_bytes: sizeBytes,
    sha256,
  };
  writeFileSync(manifestOf(file), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600, flush: true });
}
