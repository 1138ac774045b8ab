/** How many rows the rules of an audit are about, and the totals of the ledger, by plain SQL. */
import type { SQL } from 'bun';
import type { Audit } from '../../src/console/operator-contract.ts';

/** By how a rule begins. Those about sums are about rows that the gateway has added up itself. */
const counted: readonly (readonly [rules: readonly string[], query: string])[] = [
  [
    [
      'the entries of each account sum',
      'the last entry of each account',
      'the held amount of each account',
      'no account holds less',
    ],
    'select count(*) from accounts',
  ],
  [
    [
      'the held amount of each key',
      'the number of open Generations that is stored with each key',
      'what each key spent',
    ],
    'select count(*) from api_keys',
  ],
  [['entries are numbered without gaps'], 'select count(*) from ledger_entries'],
  [
    ['no Generation is charged twice', 'each charge has a usage record', 'every charge that the gateway'],
    "select count(*) from ledger_entries where kind = 'charge'",
  ],
  [
    ['each usage record has possible counts'],
    'select count(distinct generation_id) from ledger_entries where generation_id is not null',
  ],
  [
    [
      'no charge exceeds its hold',
      'each Generation with a cost has a charge',
      'each Generation with a cost has the',
    ],
    'select count(*) from generations where cost_total is not null',
  ],
  [['each Generation says how it ended', 'cached tokens are part'], 'select count(*) from generations'],
  [['no Generation is both open'], 'select count(*) from open_generations'],
  [['what is left of each grant is'], 'select count(*) from grants'],
  [['each payment that was credited'], 'select count(*) from payment_orders'],
  [['the corrections of each refund or dispute'], 'select count(*) from payment_reversals'],
  [['every uncharged attempt'], 'select count(*) from uncharged_attempts'],
  [
    ['every entry, hold, usage record, write-off'],
    `select (select count(*) from ledger_entries) + (select count(*) from open_generations) + (select count(*) from usage_records)
       + (select count(*) from write_offs) + (select count(*) from uncharged_attempts)`,
  ],
  [
    ['every hold and usage record'],
    'select (select count(*) from open_generations) + (select count(*) from usage_records)',
  ],
  [
    ['what has expired or was voided'],
    "select count(*) from ledger_entries where kind in ('expiry', 'void')",
  ],
];

/** By rule. Rules that are not here are about rows of the gateway's own sums, or a sample of those. */
export async function plainChecks(sql: SQL, rules: readonly string[]): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (const [beginnings, query] of counted) {
    const [{ count }] = await sql.unsafe<[{ count: number }]>(`select (${query})::int as count`);
    for (const beginning of beginnings)
      found.set(rules.find((rule) => rule.startsWith(beginning)) ?? beginning, count);
  }
  return found;
}

export async function plainTotals(sql: SQL): Promise<NonNullable<Audit['totals']>> {
  const [totals] = await sql<[NonNullable<Audit['totals']>]>`
    select (select sum(amount) from ledger_entries)::numeric(38,12)::text as balance,
           (select sum(hold) from open_generations)::numeric(38,12)::text as held,
           sum(amount) filter (where reason <> 'implausible_usage')::numeric(38,12)::text as written_off,
           count(*) filter (where reason <> 'implausible_usage' and amount is null)::int as unknown_write_offs,
           sum(amount) filter (where reason = 'implausible_usage')::numeric(38,12)::text as not_believed
    from write_offs`;
  return { ...totals };
}
