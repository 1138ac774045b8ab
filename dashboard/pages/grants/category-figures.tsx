import type { CategoryBalance } from '../../../src/console/grant-contract.ts';
import { formatBalance } from '../../kit/amounts.ts';
import { Money, Time } from '../../kit/figures.tsx';
import { Stat, StatGroup } from '../../kit/stat.tsx';
import { categories } from './grant-words.ts';

/** What the balance consists of, and what of it expires next. */
export function CategoryFigures({ balances }: Readonly<{ balances: readonly CategoryBalance[] }>) {
  return (
    <StatGroup>
      {balances.map(({ category, amount, next_expiry: next }) => (
        <Stat
          key={category}
          label={categories[category].total}
          value={<Money amount={amount} isBalance />}
          {...(next === null
            ? {}
            : {
                hint: (
                  <>
                    {formatBalance(next.amount)} expires on <Time at={next.at} style="date" />
                  </>
                ),
              })}
        />
      ))}
    </StatGroup>
  );
}
