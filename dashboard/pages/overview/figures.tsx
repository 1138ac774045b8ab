/** What is available, and until when. */
import type { Overview } from '../../../src/console/contract.ts';
import { formatTotal, signOfMoney } from '../../kit/amounts.ts';
import { Money } from '../../kit/figures.tsx';
import { Stat } from '../../kit/stat.tsx';
import { describeRunway, fundsOf, type Outlook } from '../home/runway.ts';

type Balance = Pick<Overview, 'balance' | 'held' | 'runway' | 'typical_hold'>;

/** Undefined while it is being loaded. */
export function AvailableStat({ overview }: Readonly<{ overview: Overview | undefined }>) {
  const described = overview && describeAvailable(overview, new Date());
  return (
    <Stat
      label="Available"
      link={{ to: '/billing' }}
      value={overview && <Money amount={fundsOf(overview).available} isBalance />}
      hint={described === undefined ? ' ' : <span title={described.detail}>{described.sentence}</span>}
      tone={described?.tone ?? 'plain'}
    />
  );
}

export function describeAvailable(balance: Balance, now: Date): Omit<Outlook, 'words'> {
  const { sentence, detail, tone } = describeRunway(fundsOf(balance), now);
  const { held } = balance;
  return {
    sentence: signOfMoney(held) > 0 ? `${sentence}, ${formatTotal(held)} is held` : sentence,
    detail,
    tone,
  };
}
