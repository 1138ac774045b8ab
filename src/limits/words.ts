/** Limits in words, for the errors of requests that exceed them. */
import { countUnit } from '../ledger/decide-limits.ts';
import type { ExceededLimit, LimitScope } from '../ledger/operations.ts';
import { formatDollars, type Money } from '../lib/money.ts';

const owners: Readonly<Record<LimitScope, string>> = {
  account: 'this account',
  key: 'this API key',
  end_user: 'this end user',
  each_end_user: 'this end user',
};

/** For a limit of requests or tokens. */
export function limitMessage({ kind, scope, amount, left, needed }: ExceededLimit): string {
  const owner = owners[scope];
  const most = countOf(amount);
  if (kind === 'concurrent_requests')
    return `There are already ${most} requests in progress for ${owner}, the most that may be at once.`;
  if (kind === 'requests_per_minute')
    return `The limit of ${most} requests per minute for ${owner} is reached.`;
  const request = `This request may use ${countOf(needed)} tokens or more`;
  const rest = `${countOf(left)} are left of the ${most} tokens per minute for ${owner}`;
  const isNever = needed > amount;
  return `${request}; ${rest}.${isNever ? ' It never fits: shorten it, or set a lower max_tokens.' : ''}`;
}

/** For a limit of what may be spent. */
export function spendLeftMessage({ kind, scope, amount, left, freesAtMs }: ExceededLimit): string {
  const period = kind.replace('spend_per_', '');
  const rest = `${formatDollars(left, 'down')} is left of the limit of ${formatDollars(amount, 'down')} per ${period}`;
  const next = freesAtMs === null ? '' : `, until ${new Date(freesAtMs).toISOString().slice(0, 16)}Z`;
  return `${rest} for ${owners[scope]}${next}.`;
}

function countOf(amount: Money): string {
  return (amount / countUnit).toLocaleString('en');
}
