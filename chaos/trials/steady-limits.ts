/**
 * The limits of two accounts by which it can be judged whether one was exceeded: those of pace never change, and those of
 * spend are only raised, so that they can run out again.
 */
import type { SQL } from 'bun';
import { parseMoney } from '../../src/lib/money.ts';
import { createLimitAs } from '../../src/limits/limit-store.ts';

type LimitDraft = Parameters<typeof createLimitAs>[2];

/** What a limit is for. */
export type LimitTarget = Pick<LimitDraft, 'accountId' | 'scope' | 'keyId' | 'endUser' | 'kind'>;

export type SteadyLimit = LimitTarget &
  Readonly<{
    id: string;
    amount: bigint;
    /** What it is raised by each time; null if it stays as it is. */
    raise: bigint | null;
  }>;

type Ids = Readonly<Record<'cappedAccount' | 'cappedKeyId' | 'pacedAccount' | 'pacedKeyId', string>>;

/** Before the first request, so that every one counts. A request holds about 0.004 USD, and costs a tenth of that. */
export async function createSteadyLimits(sql: SQL, ids: Ids): Promise<SteadyLimit[]> {
  const capped = { accountId: ids.cappedAccount, keyId: null, endUser: null };
  const paced = { accountId: ids.pacedAccount, keyId: null, endUser: null };
  const drafts = [
    { ...capped, scope: 'account', kind: 'spend_per_day', amount: '0.012', raise: '0.0005' },
    {
      ...capped,
      scope: 'key',
      keyId: ids.cappedKeyId,
      kind: 'spend_per_week',
      amount: '0.011',
      raise: '0.0004',
    },
    { ...capped, scope: 'each_end_user', kind: 'spend_per_month', amount: '0.006', raise: '0.0002' },
    { ...paced, scope: 'account', kind: 'requests_per_minute', amount: '40', raise: null },
    { ...paced, scope: 'each_end_user', kind: 'requests_per_minute', amount: '8', raise: null },
    {
      ...paced,
      scope: 'key',
      keyId: ids.pacedKeyId,
      kind: 'tokens_per_minute',
      amount: '20000',
      raise: null,
    },
    { ...paced, scope: 'account', kind: 'concurrent_requests', amount: '3', raise: null },
  ] as const;
  const created: SteadyLimit[] = [];
  for (const { raise, amount, ...target } of drafts) {
    const draft = { ...target, amount: quantity(amount), increase: null, setBy: 'operator' } as const;
    const { id } = await sql.begin((transaction) =>
      createLimitAs(transaction, { door: 'cli', shellUser: 'chaos' }, draft),
    );
    created.push({ ...draft, id, raise: raise === null ? null : quantity(raise) });
  }
  return created;
}

/** USD, requests or tokens. */
export function quantity(text: string): bigint {
  return parseMoney(text) ?? 0n;
}
