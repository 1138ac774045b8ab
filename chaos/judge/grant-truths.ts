/** What must be true of grants, besides what the audit proves of them. */
import { formatMoney } from '../../src/lib/money.ts';
import type { Evidence } from './evidence.ts';
import { checkEach, type Truth } from './truth.ts';

export function judgeGrants({ endedGrants }: Pick<Evidence, 'endedGrants'>): Truth[] {
  return [
    checkEach('nothing is left of a grant that has expired or was voided', endedGrants, (grant) =>
      grant.remaining === 0n
        ? null
        : `grant ${grant.number} of ${grant.accountId}: ${formatMoney(grant.remaining)}`,
    ),
  ];
}
