/** What an account has, and until when. */
import type { OperatorAccountDetail } from '../../../../src/console/operator-contract.ts';
import { signOfMoney } from '../../../kit/amounts.ts';
import { Money } from '../../../kit/figures.tsx';
import { Stat, StatGroup } from '../../../kit/stat.tsx';
import { describeRunway, fundsOf } from '../../home/runway.ts';

/** Undefined while it is being loaded. */
export function AccountFigures({ account }: Readonly<{ account: OperatorAccountDetail | undefined }>) {
  const funds = account && fundsOf(account);
  const outlook = funds && describeRunway(funds, new Date());
  return (
    <StatGroup>
      <Stat label="Balance" value={account && <Money amount={account.balance} isBalance />} />
      <Stat label="Held" value={account && <Money amount={account.held} isTotal />} />
      <Stat
        label="Available"
        value={funds && <Money amount={funds.available} isBalance />}
        tone={funds !== undefined && signOfMoney(funds.available) <= 0 ? 'bad' : 'plain'}
      />
      <Stat
        label="Runs out"
        value={outlook?.words}
        hint={outlook?.detail ?? ' '}
        tone={outlook?.tone ?? 'plain'}
      />
    </StatGroup>
  );
}
