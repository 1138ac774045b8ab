/** Which keys a list shows, in which order. The gateway sends all of them: an account has at most 1,000 in force. */
import type { Key } from '../../../src/console/contract.ts';
import {
  compareMoneyDown,
  formatMoney,
  shareOfLimit,
  sumMoney,
  toneOfShare,
  unitsOf,
} from '../../kit/amounts.ts';
import type { BadgeTone } from '../../kit/badge.tsx';

export type ShownState = Key['state'] | 'at_limit' | 'blocked' | 'near_limit';
type Limited = Pick<Key, 'state' | 'month_spent' | 'held' | 'monthly_limit' | 'month_left' | 'typical_hold'>;

/** With room for fewer requests than this, a limit is near. */
const fewRequests = 3n;

/**
 * A key in force whose limit is used up is rejected until next month, so it must not look as if it worked. Nor must one whose
 * requests hold more than what is left, however little of its limit is used.
 */
export function shownStateOf(key: Limited): ShownState {
  const { state, month_spent: spent, held, monthly_limit: limit, month_left: left, typical_hold: hold } = key;
  const isInForce = state === 'active' || state === 'replaced';
  if (!isInForce || limit === null) return state;
  const share = shareOfLimit(sumMoney([spent, held]), limit);
  if (share >= 1) return 'at_limit';
  const isKnown = left !== null && hold !== null;
  if (isKnown && unitsOf(left) < unitsOf(hold)) return 'blocked';
  const isTight = isKnown && unitsOf(left) < fewRequests * unitsOf(hold);
  // A replaced key ends soon anyway, and its owner knows.
  return state === 'active' && (isTight || toneOfShare(share) !== 'accent') ? 'near_limit' : state;
}

/** What the badge of these says, and why; null for those that a status badge knows. */
export function describeTightLimit(
  key: Limited,
): Readonly<{ tone: BadgeTone; label: string; why: string | null }> | null {
  const { month_left: left, typical_hold: hold } = key;
  const state = shownStateOf(key);
  if (state !== 'blocked' && state !== 'near_limit') return null;
  const why =
    left === null || hold === null
      ? null
      : `${formatMoney(left)} left, a typical request holds ${formatMoney(hold)}`;
  return state === 'blocked'
    ? { tone: 'bad', label: 'Blocked', why }
    : { tone: 'warn', label: 'Near limit', why };
}

export const keyOrders = [
  { value: 'newest', label: 'Newest first' },
  { value: 'name', label: 'Name' },
  { value: 'spent', label: 'Most spent this month' },
  { value: 'used', label: 'Last used' },
] as const;
export type KeyOrder = (typeof keyOrders)[number]['value'];

const names = new Intl.Collator('en', { numeric: true, sensitivity: 'base' });
const newestFirst = (left: Key, right: Key) => compareTexts(right.created_at, left.created_at);
const comparisons: Readonly<Record<KeyOrder, (left: Key, right: Key) => number>> = {
  newest: newestFirst,
  name: (left, right) => names.compare(left.name, right.name) || newestFirst(left, right),
  spent: (left, right) => compareMoneyDown(left.month_spent, right.month_spent) || newestFirst(left, right),
  // A key that was never used comes last.
  used: (left, right) =>
    compareTexts(right.last_used_at ?? '', left.last_used_at ?? '') || newestFirst(left, right),
};

function compareTexts(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

export type KeyListView = Readonly<{ search: string; order: KeyOrder; hasRevoked: boolean }>;

/** Every word of the search has to occur in the name or the hint. */
export function selectKeys(keys: readonly Key[], { search, order, hasRevoked }: KeyListView): Key[] {
  const words = search.toLowerCase().split(/\s+/);
  return keys
    .filter(({ state, name, hint }) => {
      const text = `${name} ${hint}`.toLowerCase();
      return (hasRevoked || state !== 'revoked') && words.every((word) => text.includes(word));
    })
    .toSorted(comparisons[order]);
}
