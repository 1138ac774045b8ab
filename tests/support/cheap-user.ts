/** People whose passwords take little work to check: signing in as them does not take a test half a second. */
import type { SQL } from 'bun';
import { createUser, putPassword, type Role } from '../../src/people/user-store.ts';

/** Without an account, an operator. A hash says itself how much work it is to check. */
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
