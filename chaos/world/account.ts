import type { SQL } from 'bun';
import { createAccount } from '../../src/accounts/account-store.ts';
import { createKey } from '../../src/keys/key-store.ts';
import { parseMoney } from '../../src/lib/money.ts';

/** An account with this balance in USD, and a key without a rate limit. */
export async function createAccountWithKey(
  sql: SQL,
  name: string,
  balance: string,
): Promise<{ accountId: string; key: string }> {
  const { id: accountId } = await createAccount(sql, name, parseMoney(balance) ?? 0n);
  const created = await createKey(sql, {
    accountId,
    name,
    requestsPerMinute: 1_000_000,
    monthlyLimit: null,
    allowedModels: null,
    expiresAt: null,
  });
  if (created === null) throw new Error('The account of a key is missing.');
  return { accountId, key: created.key };
}
