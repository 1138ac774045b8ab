/** The keys of a hostile run: a good one, and others with something wrong with them or their account. */
import type { SQL } from 'bun';
import { createAccount } from '../../src/accounts/account-store.ts';
import { createKey, revokeKey } from '../../src/keys/key-store.ts';
import { parseMoney } from '../../src/lib/money.ts';
import type { Keys } from './maker.ts';

type Terms = Readonly<{
  requestsPerMinute?: number;
  monthlyLimit?: string;
  allowedModels?: readonly string[];
  expiresAt?: Date;
}>;

export async function createKeys(sql: SQL): Promise<Keys> {
  const rich = await createAccount(sql, 'Rich', dollars('1000000'));
  const broke = await createAccount(sql, 'Broke', 0n);
  const suspended = await createAccount(sql, 'Suspended', dollars('10'));
  const revoked = await keyOf(sql, rich.id, {});
  await revokeKey(sql, revoked);
  await sql`update accounts set suspended_at = now() where id = ${suspended.id}`;
  return {
    good: (await keyOf(sql, rich.id, {})).key,
    broke: (await keyOf(sql, broke.id, {})).key,
    revoked: revoked.key,
    expired: (await keyOf(sql, rich.id, { expiresAt: new Date(Date.now() - 1_000) })).key,
    suspended: (await keyOf(sql, suspended.id, {})).key,
    restricted: (await keyOf(sql, rich.id, { allowedModels: ['another-model'] })).key,
    limited: (await keyOf(sql, rich.id, { monthlyLimit: '0.000001' })).key,
    slow: (await keyOf(sql, rich.id, { requestsPerMinute: 1 })).key,
  };
}

async function keyOf(
  sql: SQL,
  accountId: string,
  { requestsPerMinute = 1_000_000, monthlyLimit, allowedModels, expiresAt }: Terms,
) {
  const created = await createKey(sql, {
    accountId,
    name: 'hostile',
    requestsPerMinute,
    monthlyLimit: monthlyLimit === undefined ? null : dollars(monthlyLimit),
    allowedModels: allowedModels ?? null,
    expiresAt: expiresAt ?? null,
  });
  if (created === null) throw new Error('The account of a key is missing.');
  return created;
}

function dollars(text: string): bigint {
  return parseMoney(text) ?? 0n;
}
