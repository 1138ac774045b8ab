import type { SQL } from 'bun';
import { newId } from '../lib/ids.ts';

export type NewUser = Readonly<{
  email: string;
  password: string;
  isOperator: boolean;
  accountId: string | null;
}>;

export const shortestPassword = 8;
export const longestPassword = 128;

/** Null when the address is taken already. The account must exist. */
export async function createUser(sql: SQL, user: NewUser): Promise<{ id: string; email: string } | null> {
  const id = newId();
  const email = user.email.toLowerCase();
  const password = await Bun.password.hash(user.password, 'argon2id');
  return await sql.begin(async (transaction) => {
    const created = await transaction`
      insert into users (id, email, name, email_verified, is_operator)
      values (${id}, ${email}, ${email.split('@')[0]}, true, ${user.isOperator})
      on conflict (email) do nothing returning id`;
    if (created.length === 0) return null;
    await transaction`
      insert into user_credentials (id, user_id, provider_id, provider_account_id, password)
      values (${newId()}, ${id}, 'credential', ${id}, ${password})`;
    if (user.accountId !== null) {
      await transaction`insert into memberships (user_id, account_id, role) values (${id}, ${user.accountId}, 'owner')`;
    }
    return { id, email };
  });
}
