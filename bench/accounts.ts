/** Accounts with more than enough credit, each with one key without limits. */
import type { SQL } from 'bun';
import { createAccount } from '../src/accounts/account-store.ts';
import { createKey, maxConcurrentLimit, maxRequestsPerMinute } from '../src/keys/key-store.ts';

export type Owner = Readonly<{ accountId: string; keyId: string; key: string }>;

const credit = 1_000_000n * 10n ** 12n;

export async function createAccounts(sql: SQL, count: number): Promise<Owner[]> {
  const owners: Owner[] = [];
  for (let number = 1; number <= count; number += 1) {
    const { id: accountId } = await createAccount(sql, `Bench ${number}`, credit);
    const created = await createKey(sql, {
      accountId,
      name: 'Bench',
      maxConcurrent: maxConcurrentLimit,
      requestsPerMinute: maxRequestsPerMinute,
      monthlyLimit: null,
      allowedModels: null,
      expiresAt: null,
    });
    if (created === null) throw new Error('The account is gone.');
    owners.push({ accountId, keyId: created.id, key: created.key });
  }
  return owners;
}
