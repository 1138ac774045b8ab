/** Limits in words, and how much of one is used. */
import type { Limit, LimitKind } from '../../../src/console/contract.ts';
import { formatMoneyExactly, formatUsed, shareOfLimit, sumMoney } from '../../kit/amounts.ts';
import { formatCount } from '../../kit/format-figures.ts';

export const kindNames: Readonly<Record<LimitKind, string>> = {
  spend_per_day: 'Spend per day',
  spend_per_week: 'Spend per week',
  spend_per_month: 'Spend per month',
  requests_per_minute: 'Requests per minute',
  tokens_per_minute: 'Tokens per minute',
  concurrent_requests: 'Concurrent requests',
};

/** A key has settings of its own for the others. */
const kindsOfKeys: ReadonlySet<LimitKind> = new Set(['spend_per_day', 'spend_per_week', 'tokens_per_minute']);

export function kindsFor(scope: Limit['scope']): LimitKind[] {
  const kinds = Object.keys(kindNames) as LimitKind[];
  return scope === 'key' ? kinds.filter((kind) => kindsOfKeys.has(kind)) : kinds;
}

export function isSpend(kind: LimitKind): boolean {
  return kind.startsWith('spend');
}

/** What a limit is for, such as “key CI”. `account` is how the page calls the account. */
export function subjectOf(
  { scope, key_name: key, end_user: endUser }: Pick<Limit, 'scope' | 'key_name' | 'end_user'>,
  account = 'this account',
): string {
  switch (scope) {
    case 'account':
      return account;
    case 'key':
      return `key ${key ?? ''}`;
    case 'end_user':
      return `end user ${endUser ?? ''}`;
    case 'each_end_user':
      return 'each end user';
  }
}

/** Such as `Spend per day, this account`. */
export function nameOf(limit: Limit): string {
  return `${kindNames[limit.kind]}, ${subjectOf(limit)}`;
}

/** What was used or is held of a limit. */
export function formatUse(limit: Pick<Limit, 'kind' | 'amount' | 'increase'>, used: string): string {
  return isSpend(limit.kind) ? formatUsed(used, amountNow(limit)) : formatCount(Number(used));
}

export function formatAmount(kind: LimitKind, amount: string): string {
  return isSpend(kind) ? formatMoneyExactly(amount) : formatCount(Number(amount));
}

/** With its temporary increase. */
export function amountNow({ amount, increase }: Pick<Limit, 'amount' | 'increase'>): string {
  return increase === null ? amount : sumMoney([amount, increase.amount]);
}

export type Shares = Readonly<{ used: string; held: string; share: number; certainShare: number }>;

/** Null for each end user, whose use is counted one by one. */
export function sharesOf(limit: Limit): Shares | null {
  const { used, held } = limit;
  if (used === null || held === null) return null;
  const most = amountNow(limit);
  return {
    used,
    held,
    share: shareOfLimit(sumMoney([used, held]), most),
    certainShare: shareOfLimit(used, most),
  };
}
