/** What is available, and for how long. */
import type { Overview } from '../../../src/console/contract.ts';
import { compareMoneyDown, formatMoney, formatTotal, signOfMoney, subtractMoney } from '../../kit/amounts.ts';
import { Money } from '../../kit/figures.tsx';
import { formatCount } from '../../kit/format-figures.ts';
import { Stat } from '../../kit/stat.tsx';

type Balance = Pick<Overview, 'balance' | 'held' | 'runway' | 'typical_hold'>;

/** Undefined while it is being loaded. */
export function AvailableStat({ overview }: Readonly<{ overview: Overview | undefined }>) {
  return (
    <Stat
      label="Available"
      link={{ to: '/billing' }}
      value={overview && <Money amount={subtractMoney(overview.balance, overview.held)} isBalance />}
      hint={overview === undefined ? ' ' : describeAvailable(overview).words}
      tone={overview === undefined ? 'plain' : describeAvailable(overview).tone}
    />
  );
}

type Described = Readonly<{ words: string; tone: 'plain' | 'warn' | 'bad' }>;

/** How long it lasts says nothing if the next request does not fit. */
export function describeAvailable({ balance, held, runway, typical_hold: hold }: Balance): Described {
  const available = subtractMoney(balance, held);
  const heldWords = signOfMoney(held) > 0 ? `, ${formatTotal(held)} is held` : '';
  if (signOfMoney(available) <= 0) return { words: `Nothing is left${heldWords}`, tone: 'bad' };
  if (hold !== null && compareMoneyDown(available, hold) > 0)
    return {
      words: `A typical request holds ${formatMoney(hold)}, which no longer fits${heldWords}`,
      tone: 'bad',
    };
  const { hours_left: left } = runway;
  return {
    words: left === null ? `Nothing was spent in 7 days${heldWords}` : `${lastsFor(left)}${heldWords}`,
    tone: left !== null && left < fewHours ? 'warn' : 'plain',
  };
}

/** As the gateway calls a balance low. */
const fewHours = 24;

/** Nobody plans for longer. */
const hoursOfYear = 8_760;

/** Rounded down: running out earlier than announced would be worse than later. */
export function lastsFor(hoursLeft: number): string {
  if (hoursLeft < 1) return 'Lasts for less than an hour of use';
  if (hoursLeft > hoursOfYear) return 'Lasts for more than a year of use';
  const hours = Math.floor(hoursLeft);
  return `Lasts for ${hours === 1 ? '1 more hour' : `${formatCount(hours)} more hours`} of use`;
}
