/** Finds Generations by whom they were for. */
import type { SQL } from 'bun';
import type { Label } from './attribution.ts';
import type { GenerationFilter } from './generation-store.ts';

/** How many Generations with the first label are looked at for one page. What is left comes with the next. */
export const maxScanned = 10_000;

/** Of one account, or of all of them when it is null; of one key, or of all of them. */
export type AttributedFilter = GenerationFilter &
  Readonly<{ accountId: string | null; keyId: string | null; labels: readonly Label[] }>;

/**
 * The parts of a query for Generations with all of these labels, the newest first. `page` are their rows, with the columns
 * of finished_generations. `scannedTo` is where the next page begins if this one had to stop early, otherwise null.
 *
 * Those with the first label are read backwards from an index, no further than necessary, and the rest of the filter is
 * applied to each. Like `pageQuery`, it leaves the planner no choice: both ends of the range are compared as rows, which are
 * sorted as only one index is, and each Generation is looked up in a subquery with a limit, which cannot become a join.
 */
export function attributedQuery(sql: SQL, filter: AttributedFilter, before: string, rowCount: number) {
  const { accountId, keyId, status, model, labels } = filter;
  const [first, ...others] = labels;
  if (first === undefined) throw new Error('There is no label to look for.');
  const [kind, label] = first;
  const kinds = others.map(([other]) => other);
  const texts = others.map(([, text]) => text);
  const [range, order] =
    accountId === null
      ? [
          sql`(kind, label) >= (${kind}::text, ${label}::text)
              and (kind, label, generation_id) < (${kind}::text, ${label}::text, ${before}::uuid)`,
          sql`kind desc, label desc, generation_id desc`,
        ]
      : [
          sql`(account_id, kind, label) >= (${accountId}::uuid, ${kind}::text, ${label}::text)
              and (account_id, kind, label, generation_id)
                < (${accountId}::uuid, ${kind}::text, ${label}::text, ${before}::uuid)`,
          sql`account_id desc, kind desc, label desc, generation_id desc`,
        ];
  const scan = sql`
    select account_id, kind, label, generation_id from generation_attributions
    where ${range} and generation_id < ${before}::uuid
    order by ${order}`;
  return {
    scannedTo: sql`(select generation_id from (${scan}) as scanned offset ${maxScanned - 1}::int limit 1)`,
    page: sql`
      select generation.* from (${scan} limit ${maxScanned}::int) as scanned
      cross join lateral (
        (select * from finished_generations where id = generation_id)
        union all (select * from unfinished_generations where id = generation_id)
        limit 1
      ) as generation
      where (${status}::text is null or generation.status = ${status}::text)
        and (${model}::text is null or generation.model = ${model}::text)
        and (${keyId}::uuid is null or generation.key_id = ${keyId}::uuid)
        and not exists (
          select 1 from unnest(${sql.array(kinds, 'text')}, ${sql.array(texts, 'text')}) as other (kind, label)
          where not exists (
            select 1 from generation_attributions as found
            where found.generation_id = scanned.generation_id and found.kind = other.kind and found.label = other.label))
      order by ${order} limit ${rowCount}::int`,
  };
}
