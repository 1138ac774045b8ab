/** Takes an archived month out of the database: first stores a checkpoint in its place, then removes the partitions. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ReservedSQL } from 'bun';
import { describeFile, type FileFacts } from '../lib/gzip-lines.ts';
import { newId } from '../lib/ids.ts';
import { formatMoney } from '../lib/money.ts';
import { OperatorError } from '../lib/operator-error.ts';
import type { ArchiveContent } from './archive-file.ts';
import type { ClosedMonths } from './archive-months.ts';

const lockTimeoutMs = 100;
const betweenTriesMs = 500;
const maxTries = 600;

type Replacement = Readonly<{
  month: ClosedMonths;
  /** The usage records of the month whose charges are in other months. */
  chargedElsewhere: readonly string[];
  content: ArchiveContent;
  facts: FileFacts;
  name: string;
}>;

const partitionsOf = ({ suffix }: ClosedMonths) =>
  [`ledger_entries${suffix}`, `usage_records${suffix}`] as const;

/** One transaction; returns the ID of the archive. Requests wait only while the partitions are being detached. */
export async function replaceByCheckpoint(
  connection: ReservedSQL,
  replacement: Replacement,
): Promise<string> {
  const { month, chargedElsewhere } = replacement;
  const [entries, records] = partitionsOf(month);
  const id = newId();
  try {
    await connection.unsafe('begin');
    await storeCheckpoint(connection, id, replacement);
    await runLocking(connection, [
      `alter table usage_records detach partition "${records}"`,
      `alter table ledger_entries detach partition "${entries}"`,
    ]);
    // Refunds are looked for only now that there can be no more of them. Our own UUIDs need no quoting. With the partition
    // detached, these records go to the default one.
    await connection.unsafe(
      `insert into usage_records select used.* from "${records}" as used join (
         select unnest($1::text::uuid[]) as id union select generation_id from ledger_entries where kind = 'refund'
       ) as staying on staying.id = used.id`,
      [`{${chargedElsewhere.join(',')}}`],
    );
    await connection.unsafe('commit');
    return id;
  } catch (error) {
    await connection.unsafe('rollback').catch(() => undefined);
    throw error;
  }
}

async function storeCheckpoint(
  connection: ReservedSQL,
  id: string,
  { month, content, facts, name }: Replacement,
): Promise<void> {
  const [entries] = partitionsOf(month);
  const accounts = [...content.ranges].map(([accountId, range]) => ({
    account_id: accountId,
    first_number: `${range.firstNumber}`,
    last_number: `${range.lastNumber}`,
    balance_before: formatMoney(range.balanceBefore),
    balance_after: formatMoney(range.balanceAfter),
  }));
  await connection`
    insert into ledger_archives (id, begins_on, ends_on, file_name, digest, size_bytes, entry_count, record_count)
    values (${id}, ${month.beginsOn}::text::date, ${month.endsOn}::text::date, ${name}, decode(${facts.sha256}, 'hex'),
      ${facts.sizeBytes}, ${content.entryCount}, ${content.recordCount})`;
  await connection`
    insert into ledger_archive_accounts (archive_id, account_id, first_number, last_number, balance_before, balance_after)
    select ${id}::uuid, * from json_to_recordset(${JSON.stringify(accounts)}::text::json) as row (
      account_id uuid, first_number bigint, last_number bigint, balance_before numeric, balance_after numeric)`;
  await connection.unsafe(
    `insert into ledger_archive_usage (archive_id, account_id, day, model, key_id, requests, input_tokens, output_tokens,
       images, cost, cache_read_tokens, cache_write_tokens, cache_saved, provider_cost)
     select $1::text::uuid, account_id, day, model, key_id, sum(sign), sum(sign * input_tokens::numeric),
            sum(sign * output_tokens::numeric),
            coalesce(sum(sign * units::numeric) filter (where unit = 'images'), 0), sum(paid),
            sum(sign * coalesce(cache_read_tokens, 0)::numeric),
            sum(sign * coalesce(cache_write_tokens + cache_write_long_tokens, 0)::numeric),
            sum(sign * coalesce(cache_saved, 0)), sum(sign * coalesce(provider_cost, 0))
     from (
       select used.*, (billed_at at time zone 'UTC')::date as day, -entry.amount as paid,
              case when kind = 'charge' then 1 when reference is null then -1 else 0 end as sign
       from "${entries}" as entry join usage_records as used on used.id = entry.generation_id
     ) as counted
     group by account_id, day, model, key_id`,
    [id],
  );
}

/** For statements that need exclusive locks. These are requested again and again, each time briefly. */
async function runLocking(connection: ReservedSQL, statements: readonly string[]): Promise<void> {
  await connection.unsafe('savepoint unlocked');
  for (let tries = 1; ; tries += 1) {
    try {
      await connection.unsafe(`set local lock_timeout = ${lockTimeoutMs}`);
      for (const statement of statements) await connection.unsafe(statement);
      return;
    } catch (error) {
      if (!isLockTimeout(error) || tries === maxTries) throw error;
      await connection.unsafe('rollback to savepoint unlocked');
      await Bun.sleep(betweenTriesMs);
    }
  }
}

function isLockTimeout(error: unknown): boolean {
  return error instanceof Error && 'errno' in error && error.errno === '55P03';
}

type Detached = Readonly<{ id: string; month: ClosedMonths; entryCount: number }>;

/** Nobody can write to a detached partition, so what is checked here is exactly what is dropped. */
export async function dropDetached(connection: ReservedSQL, detached: Detached): Promise<void> {
  const [entries, records] = partitionsOf(detached.month);
  const [row] = await connection.unsafe<[{ entries: number; unknown_records: number }]>(`
    select (select count(*)::int from "${entries}") as entries,
           (select count(*)::int from "${records}" as used
            where not exists (select 1 from usage_records where id = used.id)
              and not exists (select 1 from "${entries}" where generation_id = used.id and kind = 'charge')) as unknown_records`);
  if (row.entries !== detached.entryCount || row.unknown_records > 0) {
    await attachAgain(connection, detached);
    throw new OperatorError(
      `The months before ${detached.month.endsOn} stay: they changed while they were being archived. Try again.`,
    );
  }
  await connection.unsafe('begin');
  // Records outside of this month are deleted with the last entry that refers to them. A refund that is being made has locked
  // its record, and only a statement that begins after its end sees its entry.
  const concerned = `id in (
    select generation_id from "${entries}" as entry
    where kind = 'refund' or kind = 'charge' and not exists (select 1 from "${records}" where id = entry.generation_id)
  )`;
  await connection.unsafe(`select id from usage_records where ${concerned} order by id for update`);
  await connection.unsafe(`
    delete from usage_records where ${concerned}
      and not exists (select 1 from ledger_entries where generation_id = usage_records.id and kind = 'charge')
      and not exists (select 1 from ledger_entries where generation_id = usage_records.id and kind = 'refund')`);
  await connection.unsafe(`drop table "${entries}", "${records}"`);
  await connection.unsafe('commit');
}

async function attachAgain(connection: ReservedSQL, { id, month }: Detached): Promise<void> {
  const [entries, records] = partitionsOf(month);
  const { beginsOn, endsOn } = month;
  const [bounds] = await connection<[{ first_id: string | null; end_id: string }]>`
    select first_id_at(${beginsOn}::text::timestamp at time zone 'UTC') as first_id,
           first_id_at(${endsOn}::text::timestamp at time zone 'UTC') as end_id`;
  const firstId = bounds.first_id === null ? 'minvalue' : `'${bounds.first_id}'`;
  const firstTime = beginsOn === null ? 'minvalue' : `'${beginsOn} 00:00:00+00'`;
  await connection.unsafe('begin');
  await connection`delete from ledger_archive_usage where archive_id = ${id}`;
  await connection`delete from ledger_archive_accounts where archive_id = ${id}`;
  await connection`delete from ledger_archives where id = ${id}`;
  // Attaching locks the default partitions anyway. They are locked first, so that no refund is made while records move back.
  await runLocking(connection, [
    'lock table usage_records_default, ledger_entries_default in access exclusive mode',
    `update "${records}" as record set refunded = kept.refunded, refunded_at = kept.refunded_at
     from usage_records as kept where kept.id = record.id`,
    `delete from usage_records where id in (select id from "${records}")`,
    `alter table usage_records attach partition "${records}" for values from (${firstId}) to ('${bounds.end_id}')`,
    `alter table ledger_entries attach partition "${entries}" for values from (${firstTime}) to ('${endsOn} 00:00:00+00')`,
  ]);
  await connection.unsafe('commit');
}

type Leftover = {
  id: string;
  suffix: string;
  begins_on: string | null;
  ends_on: string;
  entry_count: number;
  file_name: string;
  sha256: string;
};

/**
 * Left by a run that ended between detaching and dropping. Its checkpoint is stored; if its file is not in the folder, the month
 * goes back.
 */
export async function dropLeftovers(connection: ReservedSQL, folder: string): Promise<void> {
  const leftovers = await connection<Leftover[]>`
    select id, substr(relname, length('ledger_entries') + 1) as suffix, begins_on::text, ends_on::text,
           entry_count::int, file_name, encode(digest, 'hex') as sha256
    from pg_class join ledger_archives on ends_on = to_date(right(relname, 7), 'YYYY_MM') + interval '1 month'
    where relnamespace = 'public'::regnamespace and relkind = 'r' and not relispartition
      and relname ~ '^ledger_entries(_to)?_[0-9]{4}_[0-9]{2}$'`;
  for (const leftover of leftovers) {
    const { id, suffix, begins_on: beginsOn, ends_on: endsOn, entry_count: entryCount } = leftover;
    const detached = { id, month: { suffix, beginsOn, endsOn }, entryCount };
    if (await isComplete(folder, leftover)) await dropDetached(connection, detached);
    else await attachAgain(connection, detached);
  }
}

async function isComplete(folder: string, { file_name: name, sha256 }: Leftover): Promise<boolean> {
  const file = join(folder, name);
  return existsSync(file) && (await describeFile(file)).sha256 === sha256;
}
