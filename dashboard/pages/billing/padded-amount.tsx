/** An amount with every digit, and as many decimals as the others of its column. */
import { formatMoneyExactly, missingZeros } from '../../kit/amounts.ts';

type PaddedAmountProps = Readonly<{ amount: string; digits: number; hasSign?: boolean }>;

export function PaddedAmount({ amount, digits, hasSign = false }: PaddedAmountProps) {
  const exact = formatMoneyExactly(amount);
  return (
    <span className="figures whitespace-nowrap">
      {hasSign && !amount.startsWith('-') && '+'}
      {exact}
      <span aria-hidden className="font-normal text-ink-faint">
        {missingZeros(exact, digits)}
      </span>
    </span>
  );
}
