/** Finds Generations by whom they were for. */
import type { SQL } from 'bun';
import { nilId } from '../lib/ids.ts';
import type { Label } from './attribution.ts';
import type { GenerationFilter } from './generation-store.ts';

/** How many Generations with the first label are looked at for one page. What is left comes with the next. */
export const maxScanned = 10_000;
/** As in the query below, where it has to be a constant. */
const maxScannedAtOnce = 1_000;

/** Of one account, or of all of them when it is null; of one key, or of all of them. */
export type AttributedFilter = GenerationFilter &
  Readonly<{ accountId: string | null; keyId: string | null; labels: readonly Label[] }>;

/** `scanned_id` is that of a Generation with the first label, `id` the same if it matches the whole filter. */
export type ScannedRow = Readonly<{ scanned_id: string; id: string | null }>;

/** `scannedTo` is where to go on if not everything was looked at; null otherwise. */
export type FoundList<Row> = Readonly<{ rows: readonly Row[]; scannedTo: string | null }>;

/**
 * The query of the next `scanCount` Generations with the first label, for other queries to include: a row for each of them, the
 * newest first, with the columns of finished_generations for those that match the rest of the filter, too. Each Generation is
 * looked up in a subquery with a limit, which cannot become a join.
 */
export function attributedQuery(sql: SQL, filter: AttributedFilter, before: string, scanCount: number) {
  const { accountId, keyId, status, model, labels } = filter;
  const [label, ...others] = labels;
  if (label === undefined) throw new Error('There is no label to look for.');
  const range = { accountId, label, first: nilId, before };
  return sql`
    select scanned.generation_id as scanned_id, generation.*
    from (${labelledQuery(sql, range, scanCount, sql`limit 1000`)}) as scanned
    left join lateral (
      (select * from finished_generations where id = scanned.generation_id)
      union all (select * from unfinished_generations where id = scanned.generation_id)
      limit 1
    ) as generation on (${status}::text is null or generation.status = ${status}::text)
      and (${model}::text is null or generation.model = ${model}::text)
      and (${keyId}::uuid is null or generation.key_id = ${keyId}::uuid)
      and ${hasLabels(sql, sql`scanned.generation_id`, others)}
    order by scanned.generation_id desc`;
}

/** Of one account, or of all of them when it is null: IDs from the first one up to, but without, the other. */
type LabelledRange = Readonly<{ accountId: string | null; label: Label; first: string; before: string }>;

/**
 * The query of the next `scanCount` IDs with a label, the newest first. Like `pageQuery` it reads one range of an index backwards,
 * and leaves the planner no choice: both ends of the range are compared as rows, in the order of one index, with values that the
 * planner does not know and a limit that it does.
 */
export function labelledQuery(
  sql: SQL,
  { accountId, label: [kind, label], first, before }: LabelledRange,
  scanCount: number,
  constantLimit: SQL.Query<unknown>,
) {
  const [columns, values, order] =
    accountId === null
      ? [sql`kind, label`, sql`one.kind, one.label`, sql`kind desc, label desc`]
      : [
          sql`account_id, kind, label`,
          sql`one.account_id, one.kind, one.label`,
          sql`account_id desc, kind desc, label desc`,
        ];
  return sql`
    select labelled.generation_id
    from unnest(array[${accountId}::uuid], array[${kind}::text], array[${label}::text]) as one (account_id, kind, label)
    cross join lateral (
      select * from (
        select generation_id from generation_attributions
        where (${columns}, generation_id) >= (${values}, ${first}::uuid)
          and (${columns}, generation_id) < (${values}, ${before}::uuid)
          and generation_id >= ${first}::uuid and generation_id < ${before}::uuid
        order by ${order}, generation_id desc ${constantLimit}
      ) as longest limit ${scanCount}::int
    ) as labelled`;
}

/** Whether the request with this ID has all of these labels. */
export function hasLabels(sql: SQL, id: SQL.Query<unknown>, labels: readonly Label[]) {
  const kinds = labels.map(([kind]) => kind);
  const texts = labels.map(([, text]) => text);
  return sql`not exists (
    select 1 from unnest(${sql.array(kinds, 'text')}, ${sql.array(texts, 'text')}) as other (kind, label)
    where not exists (
      select 1 from generation_attributions as found
      where found.generation_id = ${id} and found.kind = other.kind and found.label = other.label))`;
}

/** Asks until there are enough rows, or no more, or enough was looked at. `ask` takes what `attributedQuery` does. */
export async function findMatching<Row extends ScannedRow>(
  ask: (before: string, scanCount: number) => Promise<readonly Row[]>,
  before: string,
  rowCount: number,
): Promise<FoundList<Row & Readonly<{ id: string }>>> {
  const rows: (Row & Readonly<{ id: string }>)[] = [];
  let position = before;
  for (let scanned = 0; scanned < maxScanned; ) {
    // Most pages are filled by the first rows.
    const scanCount = Math.min(scanned === 0 ? rowCount : maxScanned - scanned, maxScannedAtOnce);
    const seen = await ask(position, scanCount);
    for (const row of seen) if (isMatch(row)) rows.push(row);
    if (rows.length >= rowCount || seen.length < scanCount)
      return { rows: rows.slice(0, rowCount), scannedTo: null };
    scanned += seen.length;
    position = seen.at(-1)?.scanned_id ?? position;
  }
  return { rows, scannedTo: position };
}

function isMatch<Row extends ScannedRow>(row: Row): row is Row & Readonly<{ id: string }> {
  return row.id !== null;
}
