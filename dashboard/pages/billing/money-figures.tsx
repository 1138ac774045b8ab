/** What an account has, until when, and when its owners are warned. */
import { formatMoneyExactly, signOfMoney } from '../../kit/amounts.ts';
import { Money } from '../../kit/figures.tsx';
import { Stat, StatGroup } from '../../kit/stat.tsx';
import { describeRunway, fundsOf } from '../home/runway.ts';
import { useOverview } from '../overview/queries.ts';
import { useAlerts } from './month-queries.ts';
import { usePaymentOptions } from './payment-queries.ts';

type MoneyFiguresProps = Readonly<{
  /** Undefined while it is being loaded. */
  money: Readonly<{ balance: string; held: string }> | undefined;
}>;

export function MoneyFigures({ money }: MoneyFiguresProps) {
  const { data: alerts } = useAlerts();
  const { data: overview, isError } = useOverview();
  const isToppedUp = useIsToppedUp();
  const funds = money && fundsOf(money);
  const outlook = overview && funds && describeRunway({ ...overview, ...funds, isToppedUp }, new Date());
  const unknown = isError
    ? ({ words: 'Unknown', detail: 'It could not be loaded', tone: 'plain' } as const)
    : undefined;
  const { words, detail = ' ', tone = 'plain' } = outlook ?? unknown ?? {};
  return (
    <StatGroup>
      <Stat
        label="Balance"
        value={money && <Money amount={money.balance} isBalance />}
        hint={warningOf(alerts)}
      />
      <Stat
        label="Held"
        value={money && <Money amount={money.held} isTotal />}
        hint="The most that running requests can cost"
      />
      <Stat
        label="Available"
        value={funds && <Money amount={funds.available} isBalance />}
        hint="For the next requests"
        tone={funds !== undefined && signOfMoney(funds.available) <= 0 ? 'bad' : 'plain'}
      />
      <Stat label="Runs out" value={words} hint={detail} tone={tone} />
    </StatGroup>
  );
}

function useIsToppedUp(): boolean {
  const automatic = usePaymentOptions().data?.automatic;
  return automatic?.is_on === true && automatic.paused_reason === null;
}

function warningOf(alerts: Readonly<{ low_balance: string | null }> | undefined): string {
  if (alerts === undefined) return ' ';
  return alerts.low_balance === null
    ? 'No warning is set'
    : `You are warned below ${formatMoneyExactly(alerts.low_balance)}`;
}
