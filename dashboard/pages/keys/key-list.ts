/** Which keys a list shows, in which order. The gateway sends all of them: an account has at most 1,000 in force. */
import type { Key } from '../../../src/console/contract.ts';
import { compareMoneyDown, shareOfLimit, sumMoney } from '../../kit/amounts.ts';

export type ShownState = Key['state'] | 'at_limit';

/** A key in force whose limit is used up is rejected until next month, so it must not look as if it worked. */
export function shownStateOf(key: Pick<Key, 'state' | 'month_spent' | 'held' | 'monthly_limit'>): ShownState {
  const { state, month_spent: spent, held, monthly_limit: limit } = key;
  const isInForce = state === 'active' || state === 'replaced';
  return isInForce && limit !== null && shareOfLimit(sumMoney([spent, held]), limit) >= 1
    ? 'at_limit'
    : state;
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
