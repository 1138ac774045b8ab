import type { SQL } from 'bun';
import { insertAccount } from '../accounts/account-store.ts';
import type { Ticket } from '../lib/bounded-queue.ts';
import { hashPassword } from '../users/password.ts';
import { type Credential, insertMembership, insertUser } from '../users/user-store.ts';

type NewCustomer = Readonly<{ name: string; email: string; password: string }>;

/**
 * A user, an account of their own without money, and the ownership of it: all of it or nothing. Null when the address
 * is taken already.
 */
export async function signUpCustomer(
  sql: SQL,
  { name, email, password }: NewCustomer,
  ticket: Ticket,
): Promise<Credential | null> {
  const passwordHash = await hashPassword(password, ticket);
  const shownName = name === '' ? (email.split('@')[0] ?? email) : name;
  return await sql.begin(async (transaction) => {
    const user = await insertUser(transaction, {
      email,
      name: shownName,
      passwordHash,
      isOperator: false,
      isEmailVerified: false,
    });
    if (user === null) return null;
    const account = await insertAccount(transaction, shownName, 0n);
    await insertMembership(transaction, user.id, account.id, 'owner');
    return { userId: user.id, passwordHash };
  });
}
