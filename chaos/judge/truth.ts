/** One truth and the evidence against it. */
import { formatMoney } from '../../src/lib/money.ts';
import { reasonOf } from './billing.ts';
import type { RecordedGeneration } from './ledger-log.ts';

export type Truth = Readonly<{
  says: string;
  checked: number;
  wrong: readonly string[];
  /** Its case is too rare to occur in every run. */
  mayBeUntested?: boolean;
  /** Other load on the machine can break it. */
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
  const refunded = generation.refunds.length + generation.refundsByHand.length;
  return `${generation.requestId} ${reasonOf(generation)}, charged ${generation.charges.map(formatMoney).join(' and ') || 'nothing'}${refunded > 0 ? ' and refunded' : ''}`;
}
