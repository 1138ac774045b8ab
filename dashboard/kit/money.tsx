import { classNames } from './class-names.ts';
import { formatBalance, formatMoney, formatMoneyExactly } from './format-money.ts';

type MoneyProps = Readonly<{
  /** As the API says it: a decimal text with up to 12 digits after the point. Null shows a dash. */
  amount: string | null;
  /** Every digit in sight, for a statement or a single charge. */
  isExact?: boolean;
  /** Of what there is to spend, which is never shown as more than it is. */
  isBalance?: boolean;
  className?: string;
}>;

/** Short by default; all digits stand in the title. */
export function Money({ amount, isExact = false, isBalance = false, className }: MoneyProps) {
  if (amount === null) return <span className="text-ink-faint">–</span>;
  const exact = formatMoneyExactly(amount);
  const short = isBalance ? formatBalance(amount) : formatMoney(amount);
  return (
    <span title={`${exact} USD`} className={classNames('figures whitespace-nowrap', className)}>
      {isExact ? exact : short}
    </span>
  );
}
