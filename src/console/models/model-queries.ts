import type { SQL } from 'bun';
import { type Caller, requireMember } from '../access.ts';
import type { Role } from '../contract.ts';

/** The models are the gateway's and the same for every account, so the membership is all that is asked of the database. */
export async function requireMembership(sql: SQL, { userId, accountId }: Caller): Promise<void> {
  const [row] = await sql<{ role: Role }[]>`
    select role from memberships where user_id = ${userId} and account_id = ${accountId}`;
  requireMember(row?.role);
}
