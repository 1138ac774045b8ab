/** Entries, grants and payments by plain SQL, as the pages list them. What follows from other rows is added up anew. */
import type { SQL } from 'bun';
import { amountOf, unitsOf } from '../../dashboard/kit/amounts.ts';
import type { Payment, StatementEntry } from '../../src/console/contract.ts';
import type { CategoryBalance, Grant } from '../../src/console/grant-contract.ts';

/** The first ones are spent first. Number 0 is what there was before the first grant. */
const grantsInOrder = (sql: SQL, account: string) => sql`
  select *, sum(amount) over spent - amount as begins, sum(amount) over spent as ends
  from grants where account_id = ${account} and voided_at is null
  window spent as (order by priority, expires_at nulls last,
    array_position(array['allowance', 'promotional', 'paid'], category), number)`;

/**
 * What entries took of which grants. All money is lined up as it is spent, and so are the charges: each takes of the grants that
 * are beside it. The rest names the entry that it is about.
 */
const drawsOf = (sql: SQL, account: string) => sql`
  select charge.number as entry, charge.generation_id, granted.number, granted.category, begins,
         least(charge.ends, granted.ends) - greatest(charge.ends + amount_of_charge, begins) as amount
  from (
    select number, generation_id, amount as amount_of_charge, sum(-amount) over (order by number) as ends
    from ledger_entries where account_id = ${account} and kind = 'charge'
  ) as charge
  join (${grantsInOrder(sql, account)}) as granted
    on granted.ends > charge.ends + amount_of_charge and begins < charge.ends
  union all
  select number, null, concerns_entry, (select category from grants where account_id = ${account} and number = concerns_entry), 0, -amount
  from ledger_entries where account_id = ${account} and concerns_entry is not null`;

type EntryRow = Omit<StatementEntry, 'created_at'> & Readonly<{ created_at: Date }>;

/** The newest first. A refund is of a charge that took of one grant. */
export async function plainEntries(sql: SQL, account: string): Promise<StatementEntry[]> {
  const rows = await sql<EntryRow[]>`
    with draws as (${drawsOf(sql, account)})
    select number::int, kind, amount::text, is_estimated, (sum(amount) over (order by number))::text as balance_after, memo,
           coalesce(reference_text, reference::text) as reference, concerns_entry::int, actor is not null as is_by_hand, created_at,
           case when generation_id is not null then json_build_object('id', 'req_' || replace(generation_id::text, '-', ''),
             'model', (select model from generations where generations.id = generation_id)) end as generation,
           (select coalesce(json_agg(json_build_object('number', draws.number, 'category', draws.category,
              'amount', (case when entry.kind = 'refund' then -entry.amount else draws.amount end)::numeric(38,12)::text) order by begins), '[]')
            from draws
            where draws.entry = entry.number or (entry.kind = 'refund' and draws.generation_id = entry.generation_id)) as draws
    from ledger_entries as entry where account_id = ${account} order by number desc`;
  return rows.map((row) => ({ ...row, created_at: row.created_at.toISOString() }));
}

type PlainGrant = Pick<
  Grant,
  'id' | 'entry_number' | 'category' | 'amount' | 'remaining' | 'priority' | 'memo'
>;

/** The newest first. */
export async function plainGrants(sql: SQL, account: string): Promise<PlainGrant[]> {
  const draws = (await plainEntries(sql, account)).flatMap((entry) => entry.draws);
  const rows = await sql<(Omit<PlainGrant, 'remaining'> & Readonly<{ number: number }>)[]>`
    select grants.id, grants.number::int, nullif(grants.number, 0)::int as entry_number, category, priority, memo,
           coalesce(entry.amount, (
             select sum(amount) from ledger_entries where account_id = ${account}
               and number < (select min(number) from grants where account_id = ${account} and number > 0)
           ))::text as amount
    from grants left join ledger_entries as entry on entry.account_id = grants.account_id and entry.number = grants.number
    where grants.account_id = ${account} order by grants.number desc`;
  return rows.map(({ number, ...grant }) => {
    const drawn = draws.filter((draw) => draw.number === number);
    const units = drawn.reduce((left, { amount }) => left - unitsOf(amount), unitsOf(grant.amount));
    return { ...grant, remaining: amountOf(units) };
  });
}

export function balancesOf(grants: readonly PlainGrant[]): Pick<CategoryBalance, 'category' | 'amount'>[] {
  return (['paid', 'promotional', 'allowance'] as const).map((category) => ({
    category,
    amount: amountOf(
      grants
        .filter((grant) => grant.category === category)
        .reduce((sum, { remaining }) => sum + unitsOf(remaining), 0n),
    ),
  }));
}

type PaymentRow = Omit<Payment, 'created_at'> & Readonly<{ created_at: Date }>;

/** The newest first. What a refund has taken is what it has booked, and owes the rest of its share of the credit. */
export async function plainPayments(sql: SQL, where: SQL.Query<unknown>): Promise<Payment[]> {
  const rows = await sql<PaymentRow[]>`
    select id, kind, amount::text, state, (paid_minor::numeric / 100)::numeric(38,12)::text as paid, receipt_url, created_at,
           (select coalesce(json_agg(json_build_object('id', id, 'kind', kind, 'status', status,
              'amount', (amount_minor::numeric / 100)::numeric(38,12)::text, 'taken', booked::numeric(38,12)::text,
              'owed', (round(payment_orders.amount * amount_minor / paid_minor, 12) - booked)::numeric(38,12)::text) order by id), '[]')
            from (
              select payment_reversals.*, (select coalesce(-sum(ledger_entries.amount), 0) from ledger_entries
                where split_part(reference_text, '/', 1) = payment_reversals.id) as booked
              from payment_reversals where order_id = payment_orders.id
            ) as reversal) as reversals
    from payment_orders where ${where} order by id desc`;
  return rows.map((row) => ({ ...row, created_at: row.created_at.toISOString() }));
}

/** Paid, but not as ordered, and not refunded. */
export const stuck = (sql: SQL) => sql`
  state = 'contradicted' and not exists (select from payment_reversals where order_id = payment_orders.id)`;
