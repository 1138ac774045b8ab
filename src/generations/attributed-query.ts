/** Finds Generations by whom they were for. */
import type { SQL } from 'bun';
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
 * newest first, with the columns of finished_generations for those that match the rest of the filter, too.
 *
 * Like `pageQuery` it reads one range of an index backwards, and leaves the planner no choice: both ends of the range are
 * compared as rows, in the order of one index, with values that the planner does not know and a limit that it does. Each
 * Generation is looked up in a subquery with a limit, which cannot become a join.
 */
export function attributedQuery(sql: SQL, filter: AttributedFilter, before: string, scanCount: number) {
  const { accountId, keyId, status, model, labels } = filter;
  const [first, ...others] = labels;
  if (first === undefined) throw new Error('There is no label to look for.');
  const [kind, label] = first;
  const kinds = others.map(([other]) => other);
  const texts = others.map(([, text]) => text);
  const range =
    accountId === null
      ? sql`
          (kind, label) >= (one.kind, one.label) and (kind, label, generation_id) < (one.kind, one.label, ${before}::uuid)
            and generation_id < ${before}::uuid
          order by kind desc, label desc, generation_id desc`
      : sql`
          (account_id, kind, label) >= (one.account_id, one.kind, one.label)
            and (account_id, kind, label, generation_id) < (one.account_id, one.kind, one.label, ${before}::uuid)
            and generation_id < ${before}::uuid
          order by account_id desc, kind desc, label desc, generation_id desc`;
  return sql`
    select scanned.generation_id as scanned_id, generation.*
    from unnest(array[${accountId}::uuid], array[${kind}::text], array[${label}::text]) as one (account_id, kind, label)
    cross join lateral (
      select * from (
        select generation_id from generation_attributions where ${range} limit 1000
      ) as longest limit ${scanCount}::int
    ) as scanned
    left join lateral (
      (select * from finished_generations where id = scanned.generation_id)
      union all (select * from unfinished_generations where id = scanned.generation_id)
      limit 1
    ) as generation on (${status}::text is null or generation.status = ${status}::text)
      and (${model}::text is null or generation.model = ${model}::text)
      and (${keyId}::uuid is null or generation.key_id = ${keyId}::uuid)
      and not exists (
        select 1 from unnest(${sql.array(kinds, 'text')}, ${sql.array(texts, 'text')}) as other (kind, label)
        where not exists (
          select 1 from generation_attributions as found
          where found.generation_id = scanned.generation_id and found.kind = other.kind and found.label = other.label))
    order by scanned.generation_id desc`;
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
