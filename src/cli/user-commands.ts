import { accountExists } from '../accounts/account-store.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { createUser, longestPassword, shortestPassword } from '../users/user-store.ts';
import { noSuchAccount } from './account-commands.ts';
import { readUuid, UsageError } from './arguments.ts';
import type { DatabaseCommand } from './command.ts';

const create: DatabaseCommand = {
  name: 'user create',
  summary: 'Make a sign-in for the dashboard: for an account, for the operator (--admin), or both.',
  options: [
    { name: 'email', value: 'E', required: true },
    { name: 'password', value: 'P', required: true },
    { name: 'admin', value: null },
    { name: 'account', value: 'ID' },
  ],
  run: async (sql, words) => {
    const email = words.text('email') ?? '';
    const password = words.text('password') ?? '';
    const account = words.text('account');
    if (!/^[^\s@]+@[^\s@]+$/.test(email) || email.length > 254)
      throw new UsageError(`--email must be an e-mail address, but is "${email}".`);
    if (password.length < shortestPassword || password.length > longestPassword)
      throw new UsageError(`--password must have ${shortestPassword} to ${longestPassword} characters.`);
    const isOperator = words.flag('admin');
    if (account === null && !isOperator) throw new UsageError('A user needs --account ID, --admin, or both.');
    const accountId = account === null ? null : readUuid(account, '--account');
    if (accountId !== null && !(await accountExists(sql, accountId))) throw noSuchAccount(accountId);
    const user = await createUser(sql, { email, password, isOperator, accountId });
    if (user === null)
      throw new OperatorError(`A user with the address ${email.toLowerCase()} exists already.`);
    return {
      json: { ...user, admin: isOperator, account: accountId },
      text: `User ${user.email} can sign in.`,
    };
  },
};

export const userCommands = [create];
