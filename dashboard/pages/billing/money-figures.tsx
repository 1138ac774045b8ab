import { signOfMoney, subtractMoney } from '../../kit/amounts.ts';
import { Money } from '../../kit/figures.tsx';
import { Stat, StatGroup } from '../../kit/stat.tsx';

type MoneyFiguresProps = Readonly<{
  /** Undefined while it is being loaded. */
  money: Readonly<{ balance: string; held: string }> | undefined;
}>;

export function MoneyFigures({ money }: MoneyFiguresProps) {
  const free = money && subtractMoney(money.balance, money.held);
  return (
    <StatGroup>
      <Stat label="Balance" value={money && <Money amount={money.balance} isBalance />} />
      <Stat label="Held" value={money && <Money amount={money.held} isTotal />} />
      <Stat
        label="Available"
        value={free && <Money amount={free} isBalance />}
        tone={free !== undefined && signOfMoney(free) <= 0 ? 'bad' : 'plain'}
      />
    </StatGroup>
  );
}
