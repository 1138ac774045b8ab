/** What a key may still do at this moment: money, requests per minute, and requests at once. */
import type { KeyDetail } from '../../../src/console/key-contract.ts';
import {
  formatMoney,
  formatMoneyExactly,
  shareOfLimit,
  signOfMoney,
  sumMoney,
  toneOfShare,
  unitsOf,
} from '../../kit/amounts.ts';
import { Meter, Money } from '../../kit/figures.tsx';
import { formatCount, formatShare } from '../../kit/format-figures.ts';
import { Stat, StatGroup } from '../../kit/stat.tsx';

export function KeyRoom({ subject }: Readonly<{ subject: KeyDetail }>) {
  const { now, requests_per_minute: perMinute, max_concurrent: concurrent } = subject;
  return (
    <StatGroup>
      <Stat
        label="Spent this month"
        value={<Money amount={subject.month_spent} isTotal />}
        hint={<Spent subject={subject} />}
      />
      <LeftStat subject={subject} />
      <Stat
        label="Rate now"
        value={`${formatCount(now.rate_used)} of ${formatCount(perMinute)}`}
        hint={
          <Share label="Rate in use" share={now.rate_used / perMinute} words="of its requests per minute" />
        }
      />
      <Stat
        label="In progress"
        value={`${formatCount(now.open)} of ${formatCount(concurrent)}`}
        hint={<Share label="In progress" share={now.open / concurrent} words="of its requests at once" />}
      />
    </StatGroup>
  );
}

function Spent({ subject }: Readonly<{ subject: KeyDetail }>) {
  const { month_spent: spent, held, monthly_limit: limit } = subject;
  const heldWords = signOfMoney(held) === 0 ? '' : `, plus ${formatMoney(held)} held`;
  if (limit === null) return `No monthly limit${heldWords}`;
  const share = shareOfLimit(sumMoney([spent, held]), limit);
  return (
    <>
      <Meter
        label="Used of the monthly limit"
        share={share}
        certainShare={shareOfLimit(spent, limit)}
        tone={toneOfShare(share)}
        className="my-1"
      />
      {formatShare(Math.min(1, share))} of {formatMoneyExactly(limit)}
      {heldWords}
    </>
  );
}

/** What is left, and for how many more requests that suffices. */
function LeftStat({ subject: { month_left: left, typical_hold: hold } }: Readonly<{ subject: KeyDetail }>) {
  if (left === null)
    return <Stat label="Left this month" value="No limit" hint="The balance of the account counts" />;
  if (hold === null)
    return (
      <Stat
        label="Left this month"
        value={<Money amount={left} isBalance />}
        hint="No typical hold is known yet"
      />
    );
  const fitting = unitsOf(hold) === 0n ? null : unitsOf(left) / unitsOf(hold);
  return (
    <Stat
      label="Left this month"
      value={<Money amount={left} isBalance />}
      tone={fitting === 0n ? 'bad' : 'plain'}
      hint={
        <>
          A typical request holds <Money amount={hold} />
          {fitting !== null && `: room for ${formatCount(Number(fitting))}`}
        </>
      }
    />
  );
}

function Share({ label, share, words }: Readonly<{ label: string; share: number; words: string }>) {
  return (
    <>
      <Meter label={label} share={share} tone={toneOfShare(share)} className="my-1" />
      {formatShare(Math.min(1, share))} {words}
    </>
  );
}
