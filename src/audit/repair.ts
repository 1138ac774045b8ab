/**
 * Corrects counters while gateways are running. A working gateway changes a counter and the rows it follows from in one
 * transaction, so the difference between them stays the same. It is found without locks, in one snapshot for each
 * counter, and then added to each row in a separate transaction. The triggers of 0016 give the row a new version, so that
 * no gateway continues with its old copy.
 *
 * Only the difference of a counter that was too low can change meanwhile, because gateways never count below zero. After
 * the first pass the counter may be too high; after the second it is right.
 */
import type { ReservedSQL, SQL } from 'bun';
import { readScope } from './audit.ts';
import { type Counter, counters } from './counters.ts';
import { withoutAudits } from './lock.ts';

/** Amounts are decimals, as in the database. The key is null for a counter of the account itself. */
export type Repair = Readonly<{
  accountId: string;
  keyId: string | null;
  counter: Counter['column'];
  was: string;
  is: string;
}>;

type WrongRow = Readonly<{
  accountId: string;
  keyId: string | null;
  month: string | null;
  rowId: string;
  stored: string;
  counted: string;
  difference: string;
}>;

type RepairOptions = Readonly<{
  /** Only reports what would be changed. */
  isDryRun: boolean;
  /** Records each change in its transaction. */
  record: (transaction: SQL, repair: Repair) => Promise<void>;
}>;

const maxPasses = 3;

/** A difference must be added only once, so no other repair runs meanwhile, and no audit. */
export async function repairCounters(openDedicated: () => SQL, options: RepairOptions): Promise<Repair[]> {
  return await withoutAudits(openDedicated, async (connection) => {
    const { archivedBefore } = await readScope(connection, null);
    const repairs: Repair[] = [];
    for (let pass = 1; pass <= (options.isDryRun ? 1 : maxPasses); pass += 1) {
      const found = await runPass(connection, archivedBefore, options);
      if (found.length === 0) break;
      repairs.push(...found);
    }
    return repairs;
  });
}

async function runPass(
  connection: ReservedSQL,
  archivedBefore: string | null,
  { isDryRun, record }: RepairOptions,
): Promise<Repair[]> {
  const repairs: Repair[] = [];
  for (const counter of counters) {
    for (const row of await findWrong(connection, counter, archivedBefore)) {
      const repair = isDryRun
        ? describe(counter, row, row.stored, row.counted)
        : await correct(connection, counter, row, record);
      if (repair !== null) repairs.push(repair);
    }
  }
  return repairs;
}

async function findWrong(
  connection: ReservedSQL,
  { rows }: Counter,
  archivedBefore: string | null,
): Promise<WrongRow[]> {
  return await connection.unsafe<WrongRow[]>(`
    select account_id as "accountId", key_id as "keyId", month::text, row_id as "rowId", stored::text, counted::text,
           (counted - stored)::text as difference
    from (${rows(archivedBefore)}) as counters where stored <> counted order by account_id, key_id`);
}

/** Null when a new month has begun for the key, with a new sum. */
async function correct(
  connection: ReservedSQL,
  counter: Counter,
  row: WrongRow,
  record: RepairOptions['record'],
): Promise<Repair | null> {
  const { table, column } = counter;
  const id = table === 'api_key_meters' ? 'key_id' : 'id';
  const sameMonth = row.month === null ? '' : 'and month = $3::date';
  return await connection.begin(async (transaction) => {
    const [changed] = await transaction.unsafe<{ was: string; is: string }[]>(
      `update ${table} set ${column} = ${column} + $1::numeric where ${id} = $2::uuid ${sameMonth}
       returning (${column} - $1::numeric)::text as was, ${column}::text as is`,
      [row.difference, row.rowId, ...(row.month === null ? [] : [row.month])],
    );
    if (changed === undefined) return null;
    const repair = describe(counter, row, changed.was, changed.is);
    await record(transaction, repair);
    return repair;
  });
}

function describe({ column }: Counter, { accountId, keyId }: WrongRow, was: string, is: string): Repair {
  return { accountId, keyId, counter: column, was, is };
}
