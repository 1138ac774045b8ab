import { classNames } from '../../kit/class-names.ts';
import { formatMoneyExactly } from '../../kit/format-money.ts';
import { signOfMoney } from '../../kit/sum-money.ts';
import { missingZeros } from './statement-digits.ts';

type StatementAmountProps = Readonly<{
  amount: string;
  /** After the point. Zeros that only fill up are pale. */
  digits: number;
  /** With its sign, whichever it is; money that came in stands out. */
  isMovement?: boolean;
}>;

export function StatementAmount({ amount, digits, isMovement = false }: StatementAmountProps) {
  const exact = formatMoneyExactly(amount);
  const isIncome = isMovement && signOfMoney(amount) > 0;
  return (
    <span
      title={`${isIncome ? '+' : ''}${exact} USD`}
      className={classNames('figures whitespace-nowrap', isIncome && 'font-semibold text-good')}
    >
      {isIncome && '+'}
      {exact}
      <span aria-hidden className="font-normal text-ink-faint max-md:hidden">
        {missingZeros(exact, digits)}
      </span>
    </span>
  );
}
