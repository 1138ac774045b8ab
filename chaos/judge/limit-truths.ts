/** What must be true of limits: nobody used more than they allow, and they are what they were last set to. */
import { formatMoney, parseMoney } from '../../src/lib/money.ts';
import type { AskedLimit } from '../trials/limits.ts';
import type { Evidence } from './evidence.ts';
import type { MinuteCount, SpendMeter } from './limit-log.ts';
import { checkEach, summary, type Truth } from './truth.ts';

/** One request, as limits count it. */
const one = parseMoney('1') ?? 0n;

export function judgeLimits({ limits, askedLimits, watched }: Evidence): Truth[] {
  const { samples } = watched;
  return [
    summary(
      'at every look: what is held of each limit equals its open holds',
      samples,
      watched.unmatchedLimits,
    ),
    summary(
      'at every look: used plus held within each steady limit of spend',
      samples,
      watched.exceededSpendLimits,
    ),
    summary(
      'at every look: no more requests in progress than a steady limit allows',
      samples,
      watched.exceededConcurrency,
    ),
    checkEach(
      'what was charged in the window of a limit of spend is what its meter says, and within it',
      limits.spend,
      (meter) =>
        meter.used === meter.charged && meter.charged - meter.unheld <= meter.amount
          ? null
          : describeMeter(meter),
    ),
    checkEach('no more requests were admitted in a minute than a limit allows', limits.minutes, (count) =>
      BigInt(count.admitted) * one <= count.amount ? null : describeMinute(count),
    ),
    // Whoever changes them knows what there is, unless there never was an answer.
    checkEach('no change of a limit was refused, however often it was sent', askedLimits, (asked) =>
      asked.code === null || isAnyUnanswered(askedLimits)
        ? null
        : `${asked.id ?? ''} ${asked.action} by ${asked.door}, sent ${asked.sent} times: ${asked.code}`,
    ),
    checkEach(
      'each limit is as it was last set, and none is there that nobody set',
      expectedStates(limits, askedLimits),
      ([id, amount]) => {
        const found = limits.inForce.get(id) ?? null;
        return amount === 'unknown' || amount === found
          ? null
          : `${id}: ${shown(found)}, not ${shown(amount)}`;
      },
    ),
  ];
}

function isAnyUnanswered(asked: readonly AskedLimit[]): boolean {
  return asked.some(({ answer, code }) => answer === 'unknown' && code === null);
}

type State = bigint | null | 'unknown';

/** What each limit must be in the end: its amount, or null if it was removed or nobody ever set it. */
function expectedStates(
  { inForce, steadyIds }: Evidence['limits'],
  asked: readonly AskedLimit[],
): [string, State][] {
  const isAnyUnknown = asked.some(({ id, answer }) => id === null && answer === 'unknown');
  const states = new Map<string, State>();
  for (const id of inForce.keys()) states.set(id, isAnyUnknown ? 'unknown' : null);
  for (const id of steadyIds) states.set(id, inForce.get(id) ?? 'unknown');
  for (const { id, amount, answer } of asked) {
    if (id === null || answer === 'refused') continue;
    states.set(id, answer === 'unknown' ? 'unknown' : amount);
  }
  return [...states];
}

const shown = (state: State) => (typeof state === 'bigint' ? formatMoney(state) : (state ?? 'not in force'));

function describeMeter({ limitId, endUser, amount, used, charged, unheld }: SpendMeter): string {
  return `${limitId} ${endUser ?? ''}: limit ${formatMoney(amount)}, used ${formatMoney(used)}, charged ${formatMoney(charged)}, ${formatMoney(unheld)} of it without a hold`;
}

function describeMinute({ limitId, endUser, amount, minute, admitted }: MinuteCount): string {
  return `${limitId} ${endUser ?? ''}: ${admitted} at ${minute}, limit ${amount / one}`;
}
