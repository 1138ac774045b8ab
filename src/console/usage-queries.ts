/** What an account used by day, model and key, as far as the caller's membership goes: each statement asks for it. */
import type { SQL } from 'bun';
import { type Money, moneyFromDatabase } from '../lib/money.ts';
import { type UsagePosition, usageQuery } from '../usage/usage-days.ts';
import { type Caller, requireMember } from './access.ts';
import type { Role } from './contract.ts';

export type Figures = Readonly<{
  requests: bigint;
  inputTokens: bigint;
  outputTokens: bigint;
  images: bigint;
  cost: Money;
}>;
export type DayUsage = Figures & Readonly<{ day: string; model: string; keyId: string; keyName: string }>;

export type Position = UsagePosition;

type Row = {
  day: string;
  model: string;
  key_id: string;
  key_name: string;
  requests: bigint;
  /** Sums have no upper bound that a bigint would be sure to hold. */
  input_tokens: string;
  output_tokens: string;
  images: string;
  cost: string;
};
/** A member of an account that has used nothing is one row all the same. */
type FoundRow = ({ day: null } | Row) & { role: Role };

/** No model and no key sorts before these, so this is where a day begins. */
export function beginningOf(day: string): Position {
  return { day, model: '', keyId: '00000000-0000-0000-0000-000000000000' };
}

/** The first `rowCount` rows after a position up to a day, in one snapshot. */
export async function findUsage(
  sql: SQL,
  { userId, accountId }: Caller,
  after: Position,
  to: string,
  rowCount: number,
): Promise<DayUsage[]> {
  const rows = await sql<FoundRow[]>`
    select role, to_char(usage.day, 'YYYY-MM-DD') as day, usage.model, usage.key_id,
           (select name from api_keys where id = usage.key_id) as key_name,
           requests, input_tokens, output_tokens, images, cost
    from memberships
    left join lateral (${usageQuery(sql, accountId, after, to, rowCount)}) as usage on true
    where user_id = ${userId} and account_id = ${accountId}
    order by usage.day, usage.model, usage.key_id`;
  requireMember(rows[0]?.role);
  return rows.filter((row) => row.day !== null).map(toUsage);
}

function toUsage(row: Row): DayUsage {
  return {
    day: row.day,
    model: row.model,
    keyId: row.key_id,
    keyName: row.key_name,
    requests: row.requests,
    inputTokens: BigInt(row.input_tokens),
    outputTokens: BigInt(row.output_tokens),
    images: BigInt(row.images),
    cost: moneyFromDatabase(row.cost),
  };
}
