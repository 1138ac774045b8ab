import { accountExists } from '../accounts/account-store.ts';
import { recordChange } from '../audit-log/audit-log.ts';
import { findLocalPorts } from '../database/running-gateways.ts';
import { localOriginOf } from '../lib/ip-address.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { shortTransaction } from '../lib/short-transaction.ts';
import { createResetToken, resetUrl } from '../people/reset-link.ts';
import {
  createUser,
  describeNewUser,
  findUserByEmail,
  isEmailAddress,
  listUsers,
  type Role,
} from '../people/user-store.ts';
import { noSuchAccount } from './account-commands.ts';
import { readAccountId, UsageError } from './arguments.ts';
import { type DatabaseCommand, formatList } from './command.ts';
import { readPassword } from './password.ts';
import { shellActor } from './shell-user.ts';

const create: DatabaseCommand = {
  name: 'user create',
  summary: 'Create a dashboard user: a member of an account, an operator (--admin), or both.',
  options: [
    { name: 'email', value: 'E', required: true },
    { name: 'password-file', value: 'FILE|-' },
    { name: 'password', value: 'P' },
    { name: 'admin', value: null },
    { name: 'account', value: 'ID' },
    { name: 'role', value: 'owner|member' },
  ],
  run: async (sql, words, config) => {
    const email = words.text('email') ?? '';
    const account = words.text('account');
    const role = readRole(words.text('role') ?? 'owner');
    if (!isEmailAddress(email)) throw new UsageError(`--email must be an e-mail address, but is "${email}".`);
    const isOperator = words.flag('admin');
    if (account === null && !isOperator) throw new UsageError('A user needs --account ID, --admin, or both.');
    const accountId = account === null ? null : readAccountId(account, '--account');
    if (accountId !== null && !(await accountExists(sql, accountId))) throw noSuchAccount(accountId);
    const password = await readPassword(words, email);
    const draft = { email, password, isOperator, accountId, role };
    const user = await createUser(sql, draft, (transaction, { id }) =>
      recordChange(transaction, shellActor(config), {
        action: 'create_user',
        accountId,
        object: { type: 'user', id },
        after: describeNewUser(draft),
      }),
    );
    if (user === null)
      throw new OperatorError(`A user with the address ${email.toLowerCase()} already exists.`);
    return {
      json: { ...user, admin: isOperator, account: accountId },
      text: `User ${user.email} can sign in.`,
    };
  },
};

const list: DatabaseCommand = {
  name: 'user list',
  summary: 'List everyone who can sign in to the dashboard.',
  run: async (sql) => {
    const users = await listUsers(sql);
    return {
      json: users.map(({ id, email, isOperator, accounts, createdAt }) => ({
        id,
        email,
        admin: isOperator,
        accounts,
        created_at: createdAt.toISOString(),
      })),
      text: formatList(
        ['ID', 'EMAIL', 'OPERATOR', 'ACCOUNTS'],
        users.map(({ id, email, isOperator, accounts }) => [
          id,
          email,
          isOperator ? 'yes' : 'no',
          accounts.map((account) => `${account.id} (${account.role})`).join(', '),
        ]),
        'No users yet.',
      ),
    };
  },
};

const resetLink: DatabaseCommand = {
  name: 'user reset-link',
  summary: 'Print a link for choosing a new password. It works once, within an hour.',
  positionals: ['EMAIL'],
  run: async (sql, words, config) => {
    const [email = ''] = words.positionals;
    const user = await findUserByEmail(sql, email);
    if (user === null)
      throw new OperatorError(`There is no user ${email}. List them with: tollgate user list`);
    const { token, expiresAt } = await shortTransaction(sql, async (transaction) => {
      const object = { type: 'user', id: user.id } as const;
      await recordChange(transaction, shellActor(config), { action: 'make_reset_link', object });
      return await createResetToken(transaction, user.id);
    });
    // The gateway may have been started with another PORT. With several, it is unclear which one is meant.
    const [port = config.port, another] = await findLocalPorts(sql);
    const localOrigin = localOriginOf(another === undefined ? { ...config, port } : config);
    const url = resetUrl(config.publicUrl ?? localOrigin, token);
    // Operators with their own database usually open the dashboard on another machine.
    const isDoubtful = config.publicUrl === null && config.databaseUrl !== null;
    return {
      json: { url, expires_at: expiresAt.toISOString() },
      warnings: isDoubtful
        ? [`PUBLIC_URL is not set here: replace ${localOrigin} with the address of your dashboard.`]
        : [],
      text: `${url}\n\nWorks once, until ${expiresAt.toISOString()}. Using it signs ${user.email} out everywhere.`,
    };
  },
};

function readRole(text: string): Role {
  if (text === 'owner' || text === 'member') return text;
  throw new UsageError(`--role must be owner or member, but is "${text}".`);
}

export const userCommands = [create, list, resetLink];
