/** What an account has, and for how long. */
import type { OperatorAccountDetail } from '../../../../src/console/operator-contract.ts';
import { signOfMoney, subtractMoney } from '../../../kit/amounts.ts';
import { Money } from '../../../kit/figures.tsx';
import { formatCount } from '../../../kit/format-figures.ts';
import { Stat, StatGroup } from '../../../kit/stat.tsx';

/** Undefined while it is being loaded. */
export function AccountFigures({ account }: Readonly<{ account: OperatorAccountDetail | undefined }>) {
  const free = account && subtractMoney(account.balance, account.held);
  const runway = account && describeRunway(account.runway);
  return (
    <StatGroup>
      <Stat label="Balance" value={account && <Money amount={account.balance} isBalance />} />
      <Stat label="Held" value={account && <Money amount={account.held} isTotal />} />
      <Stat
        label="Available"
        value={free && <Money amount={free} isBalance />}
        tone={free !== undefined && signOfMoney(free) <= 0 ? 'bad' : 'plain'}
      />
      <Stat
        label="Lasts for"
        value={runway?.words}
        hint={runway === undefined ? ' ' : runway.hint}
        tone={runway?.tone ?? 'plain'}
      />
    </StatGroup>
  );
}

type Runway = OperatorAccountDetail['runway'];
type Described = Readonly<{ words: string; hint: string; tone: 'plain' | 'warn' | 'bad' }>;

/** With less than a working day of use left, someone should be told. */
const fewHours = 8;
/** Nobody plans for longer. */
const hoursOfYear = 8_760;

export function describeRunway({ hours_left: left, hours_used: used }: Runway): Described {
  if (left === null) return { words: 'Unknown', hint: 'Nothing was spent in the last 7 days', tone: 'plain' };
  const hint = `At the pace of ${used === 1 ? 'the 1 hour' : `the ${formatCount(used)} hours`} of use in the last 7 days`;
  if (left === 0) return { words: 'Used up', hint, tone: 'bad' };
  if (left < 1) return { words: 'Less than an hour of use', hint, tone: 'bad' };
  if (left > hoursOfYear) return { words: 'More than a year of use', hint, tone: 'plain' };
  const hours = Math.floor(left);
  return {
    words: `${hours === 1 ? '1 hour' : `${formatCount(hours)} hours`} of use`,
    hint,
    tone: left < fewHours ? 'warn' : 'plain',
  };
}
