/** People whose passwords are cheap to check, so that signing in does not take half a second. */
import type { SQL } from 'bun';
import { createUser, putPassword, type Role } from '../../src/people/user-store.ts';

/** Without an account, it is an operator. A hash contains its own cost. */
export async function addCheapUser(
  sql: SQL,
  email: string,
  password: string,
  { accountId, role = 'owner' }: Readonly<{ accountId: string | null; role?: Role }>,
) {
  const isOperator = accountId === null;
  const user = await createUser(sql, { email, password: null, isOperator, accountId, role });
  if (user === null) throw new Error(`${email} is taken.`);
  const hash = await Bun.password.hash(password, { algorithm: 'argon2id', memoryCost: 8, timeCost: 1 });
  await sql.begin((transaction) => putPassword(transaction, user.id, hash));
  return user;
}
