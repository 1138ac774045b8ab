import type { SQL } from 'bun';
import { ApiError } from '../../errors.ts';
import { type Caller, requireMember } from '../access.ts';
import type { Role } from '../contract.ts';

/** What a key of the caller's account is known by. */
export async function findKeyHash(sql: SQL, { userId, accountId }: Caller, keyId: string): Promise<Buffer> {
  const [row] = await sql<{ role: Role; hash: Uint8Array | null }[]>`
    select role, hash
    from memberships left join api_keys on api_keys.account_id = memberships.account_id and id = ${keyId}
    where user_id = ${userId} and memberships.account_id = ${accountId}`;
  requireMember(row?.role);
  if (!row?.hash) throw new ApiError('key_not_found');
  return Buffer.from(row.hash);
}
