/** One truth and what speaks against it. */
import { formatMoney } from '../../src/lib/money.ts';
import { reasonOf } from './billing.ts';
import type { RecordedGeneration } from './ledger-log.ts';

export type Truth = Readonly<{
  says: string;
  checked: number;
  wrong: readonly string[];
  /** What it is about happens too seldom for every run to have a case of it. */
  mayBeUntested?: boolean;
  /** A machine that is busy with other things can break it. */
  isTiming?: boolean;
}>;

export function checkEach<Item>(
  says: string,
  items: readonly Item[],
  fault: (item: Item) => string | null,
): Truth {
  return { says, checked: items.length, wrong: items.flatMap((item) => fault(item) ?? []) };
}

export function summary(says: string, checked: number, violations: number): Truth {
  return { says, checked, wrong: violations === 0 ? [] : [`${violations} times`] };
}

export function describe(generation: RecordedGeneration): string {
  return `${generation.requestId} ${reasonOf(generation)}, charged ${generation.charges.map(formatMoney).join(' and ') || 'nothing'}${generation.refunds.length > 0 ? ' and given back' : ''}`;
}
