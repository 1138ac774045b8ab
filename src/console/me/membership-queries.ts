import type { SQL } from 'bun';
import type { Role } from '../contract.ts';

type Membership = Readonly<{ id: string; name: string; role: Role; isSuspended: boolean }>;

/** The accounts that a user belongs to, the oldest first. */
export async function findMemberships(sql: SQL, userId: string): Promise<Membership[]> {
  const rows = await sql<{ id: string; name: string; role: Role; is_suspended: boolean }[]>`
    select accounts.id, name, role, suspended_at is not null as is_suspended
    from memberships join accounts on accounts.id = account_id
    where user_id = ${userId} order by accounts.id`;
  return rows.map((row) => ({ id: row.id, name: row.name, role: row.role, isSuspended: row.is_suspended }));
}
