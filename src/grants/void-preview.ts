import type { SQL } from 'bun';
import { type Money, moneyFromDatabase } from '../lib/money.ts';

/** What voiding a grant would take at once. Nothing is written but what is due. Null when there is no such grant. */
export async function previewVoid(
  sql: SQL,
  { accountId, id }: Readonly<{ accountId: string; id: string }>,
): Promise<Readonly<{ taken: Money; kept: Money }> | null> {
  await sql`select refresh_grants(${accountId}::uuid)`;
  // As settle_grants has it: holds reserve money in the order of spending.
  const [row] = await sql<{ remaining: string; taken: string }[]>`
    select grants.remaining, coalesce(
      least(grants.remaining - least(grants.remaining, greatest(held - before, 0)), balance - held), 0)::numeric(38,12) as taken
    from grants join accounts on accounts.id = grants.account_id
    left join (
      select number, sum(remaining) over (order by place) - remaining as before
      from grants_in_order where account_id = ${accountId}
    ) as one on one.number = grants.number
    where grants.account_id = ${accountId} and grants.id = ${id} and grants.number > 0`;
  if (row === undefined) return null;
  const taken = moneyFromDatabase(row.taken);
  return { taken, kept: moneyFromDatabase(row.remaining) - taken };
}
