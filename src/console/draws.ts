/** Which grants an entry or a charge was drawn from, for those who may see it. */
import type { SQL } from 'bun';
import { type Draw, findDraws } from '../grants/grant-store.ts';
import { formatMoney } from '../lib/money.ts';
import type { GrantDraw } from './contract.ts';

/** What each of these entries, the newest first, was drawn from or given back to. */
export async function findDrawsOf(
  sql: SQL,
  accountId: string,
  entries: readonly Readonly<{ number: bigint }>[],
): Promise<(entryNumber: bigint) => GrantDraw[]> {
  const [last, first] = [entries.at(0), entries.at(-1)];
  if (first === undefined || last === undefined) return () => [];
  const draws = await findDraws(sql, accountId, { first: first.number, last: last.number });
  return (number) => (draws.get(number) ?? []).map(presentDraw);
}

export function presentDraw({ number, category, amount }: Draw): GrantDraw {
  return { number: Number(number), category, amount: formatMoney(amount) };
}
