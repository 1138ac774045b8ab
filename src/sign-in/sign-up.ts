import type { SQL } from 'bun';
import { insertAccount } from '../accounts/account-store.ts';
import { hashPassword } from '../users/password.ts';
import { insertMembership, insertUser } from '../users/user-store.ts';

type NewCustomer = Readonly<{ name: string; email: string; password: string }>;

/**
 * A user, an account of their own without money, and the ownership of it: all of it or nothing. False when the address
 * is taken already.
 */
export async function signUpCustomer(sql: SQL, { name, email, password }: NewCustomer): Promise<boolean> {
  const passwordHash = await hashPassword(password);
  const shownName = name === '' ? (email.split('@')[0] ?? email) : name;
  return await sql.begin(async (transaction) => {
    const user = await insertUser(transaction, {
      email,
      name: shownName,
      passwordHash,
      isOperator: false,
      isEmailVerified: false,
    });
    if (user === null) return false;
    const account = await insertAccount(transaction, shownName, 0n);
    await insertMembership(transaction, user.id, account.id, 'owner');
    return true;
  });
}
