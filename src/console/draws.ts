/** Which grants an entry or a charge was drawn from, for those who may see it. */
import type { Draw, Draws } from '../grants/grant-store.ts';
import { formatMoney } from '../lib/money.ts';
import type { GrantDraw } from './contract.ts';

export function presentDrawsOf(draws: Draws, { number }: Readonly<{ number: bigint }>): GrantDraw[] {
  return (draws.get(number) ?? []).map(presentDraw);
}

export function presentDraw({ number, category, amount }: Draw): GrantDraw {
  return { number: Number(number), category, amount: formatMoney(amount) };
}
