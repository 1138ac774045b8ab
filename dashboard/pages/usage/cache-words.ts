/** What prompt caches did to the cost, in words. */
import type { UsageFigures } from '../../../src/console/contract.ts';
import { signOfMoney, subtractMoney } from '../../kit/amounts.ts';

type Cached = Pick<UsageFigures, 'input_tokens' | 'cache_read_tokens' | 'cache_write_tokens'>;

export function hasCaches({ cache_read_tokens: read, cache_write_tokens: written }: Cached): boolean {
  return read > 0 || written > 0;
}

/** From 0 to 1; null without input. */
export function shareOfInput(tokens: number, inputTokens: number): number | null {
  return inputTokens === 0 ? null : tokens / inputTokens;
}

type SavingWords = Readonly<{ verb: 'saved' | 'added'; label: string; amount: string; hint: string }>;

/** Writing to a cache may cost more than plain input, so the input can be dearer with caches than without. */
export function describeSaved(saved: string): SavingWords {
  const sign = signOfMoney(saved);
  if (sign < 0)
    return {
      verb: 'added',
      label: 'Added by caches',
      amount: subtractMoney('0', saved),
      hint: 'Writing cost more than reading saved',
    };
  return {
    verb: 'saved',
    label: 'Saved by caches',
    amount: saved,
    hint: sign === 0 ? 'All input cost its full price' : 'Compared with the full price of all input',
  };
}
