/** The lines of a cost, each with the count and the price that it comes from. */
import { formatMoneyExactly } from '../../kit/amounts.ts';
import { Fact } from '../../kit/card.tsx';
import { classNames } from '../../kit/class-names.ts';
import { Dash } from '../../kit/figures.tsx';
import type { CostBreakdown, CostLine } from './cost-lines.ts';

/** Null while nothing is known to have been used. */
export function CostLines({ breakdown }: Readonly<{ breakdown: CostBreakdown | null }>) {
  if (breakdown === null)
    return ['Input', 'Output'].map((name) => (
      <Fact key={name} name={name}>
        <Dash />
      </Fact>
    ));
  const { inputParts, input, output } = breakdown;
  return [...inputParts, ...(input === null ? [] : [input]), output].map((line) => (
    <Line key={line.label} line={line} isPart={inputParts.includes(line)} />
  ));
}

/** The calculation has its own row, so that the amounts stay in one column on a narrow screen. */
function Line({ line, isPart }: Readonly<{ line: CostLine; isPart: boolean }>) {
  const { label, count, price, unit, cost } = line;
  return (
    <div
      className={classNames(
        'grid grid-cols-[minmax(0,1fr)_auto] items-baseline gap-x-4 py-2 first:pt-0',
        isPart && 'pl-4',
      )}
    >
      <dt className="text-ink-soft wrap-anywhere">{label}</dt>
      <dd className="figures col-span-2 row-start-2 text-xs text-ink-faint">
        {price === null ? count : `${count} × ${formatMoneyExactly(price)} ${unit}`}
      </dd>
      <dd className="col-start-2 row-start-1">
        <AllDigits amount={cost} />
      </dd>
    </div>
  );
}

/** All twelve decimals, so that they line up; trailing zeros are faint, so that the amount stays readable. */
export function AllDigits({ amount }: Readonly<{ amount: string | null }>) {
  if (amount === null) return <Dash />;
  const [, digits = amount, zeros = ''] = /^(-?\d+\.\d{2}\d*?)(0*)$/.exec(amount) ?? [];
  return (
    <span className="figures">
      ${digits}
      <span className="text-ink-faint">{zeros}</span>
    </span>
  );
}
