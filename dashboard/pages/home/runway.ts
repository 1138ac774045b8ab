/** Until when the money of an account lasts, in words that are the same on every page. */
import type { Runway } from '../../../src/console/contract.ts';
import { compareMoneyDown, formatMoney, signOfMoney, subtractMoney } from '../../kit/amounts.ts';
import { formatCount, formatTime } from '../../kit/format-figures.ts';

export type Funds = Readonly<{
  available: string;
  runway: Runway;
  typical_hold: string | null;
  /** Whether credit is added automatically. */
  isToppedUp?: boolean;
}>;

export type Outlook = Readonly<{
  /** `Out of money`, `About Thu 19 Nov`. */
  words: string;
  /** The same in a sentence. */
  sentence: string;
  /** What that is based on. */
  detail: string;
  tone: 'plain' | 'warn' | 'bad';
}>;

const hourMs = 3_600_000;
/** The gateway calls a balance low that lasts for less. */
const shortlyMs = 72 * hourMs;

/** When the next request does not fit, it is of no use how long others would. */
export function describeRunway(funds: Funds, now: Date): Outlook {
  const { available, runway, typical_hold: hold, isToppedUp = false } = funds;
  const alike = (words: string, detail: string, tone: Outlook['tone']) =>
    ({ words, sentence: detail, detail, tone }) as const;
  if (signOfMoney(available) <= 0) return alike('Out of money', 'Nothing is left', 'bad');
  if (hold !== null && compareMoneyDown(available, hold) > 0)
    return alike('Out of money', `A typical request holds ${formatMoney(hold)}, which no longer fits`, 'bad');
  const { hours_left: left, runs_out_at: at } = runway;
  if (left === null) return alike('Unknown', 'Nothing was spent in 7 days', 'plain');
  // The end is later than that: it also counts the hours in which nothing is asked.
  const used = countHours(runway.hours_used, 'such');
  const more = isToppedUp ? ' Automatic top-up is not counted.' : '';
  const detail = `Enough for ${hoursOfUse(left)} with requests. The last 7 days had ${used}.${more}`;
  if (at === null)
    return { words: 'In more than a year', sentence: 'Lasts for more than a year', detail, tone: 'plain' };
  const end = formatEnd(new Date(at), now);
  const isSoon = Date.parse(at) - now.getTime() < shortlyMs;
  return {
    words: `About ${end}`,
    sentence: `Lasts until about ${end}`,
    detail,
    tone: isSoon ? 'warn' : 'plain',
  };
}

export function fundsOf<Account extends Readonly<{ balance: string; held: string }>>(account: Account) {
  return { ...account, available: subtractMoney(account.balance, account.held) };
}

/** The time of day matters for two days, and the minutes of it for two hours. No estimate is better than that. */
export function formatEnd(at: Date, now: Date, timeZone?: string): string {
  const leftMs = at.getTime() - now.getTime();
  const [year, thisYear] = [at, now].map((instant) => formatTime(instant, 'date', timeZone).slice(-4));
  const day = formatTime(at, 'weekday', timeZone).replace(',', '');
  const date = year === thisYear ? day : `${day} ${year}`;
  if (leftMs >= 48 * hourMs) return date;
  const clock = formatTime(at, 'clock', timeZone);
  return `${date}, ${leftMs < 2 * hourMs ? clock : clock.replace(/\d\d$/, '00')}`;
}

/** Rounded down: running out earlier than announced would be worse than later. */
function hoursOfUse(left: number): string {
  const hours = Math.floor(left);
  if (hours < 1) return 'less than an hour';
  return countHours(hours, 'more');
}

function countHours(hours: number, which: 'more' | 'such'): string {
  return `${formatCount(hours)} ${which} ${hours === 1 ? 'hour' : 'hours'}`;
}
