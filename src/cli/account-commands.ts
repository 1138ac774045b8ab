import { createAccount, listAccounts, setSuspended } from '../accounts/account-store.ts';
import { credit } from '../ledger/credit.ts';
import { formatMoney, formatMoneyShort } from '../lib/money.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { readDollars, readLine, readUuid, UsageError } from './arguments.ts';
import { type DatabaseCommand, formatTable } from './command.ts';

const create: DatabaseCommand = {
  name: 'account create',
  summary: 'Create a prepaid account, optionally with an opening credit.',
  options: [
    { name: 'name', value: 'NAME', required: true },
    { name: 'credit', value: 'USD' },
  ],
  run: async (sql, words) => {
    const name = readLine(words.text('name') ?? '', '--name', 200);
    const opening = readDollars(words.text('credit') ?? '0', '--credit');
    const { id, balance } = await createAccount(sql, name, opening);
    return {
      json: { id, name, balance: formatMoney(balance) },
      text: `Account ${id} (${name}) has ${formatMoneyShort(balance)} USD.`,
    };
  },
};

const creditAccount: DatabaseCommand = {
  name: 'account credit',
  summary: 'Add money to an account.',
  positionals: ['ACCOUNT', 'USD'],
  options: [{ name: 'memo', value: 'TEXT' }],
  run: async (sql, words) => {
    const [account = '', dollars = ''] = words.positionals;
    const id = readUuid(account, 'ACCOUNT');
    const amount = readDollars(dollars, 'USD');
    if (amount === 0n) throw new UsageError('USD must be more than zero.');
    const memo = words.text('memo');
    const balance = await credit(sql, id, amount, memo === null ? null : readLine(memo, '--memo', 500));
    if (balance === null) throw noSuchAccount(id);
    return {
      json: { id, balance: formatMoney(balance) },
      text: `Account ${id} now has ${formatMoneyShort(balance)} USD.`,
    };
  },
};

const list: DatabaseCommand = {
  name: 'account list',
  summary: 'List all accounts with their balances.',
  run: async (sql) => {
    const accounts = await listAccounts(sql);
    return {
      json: accounts.map(({ id, name, balance, held, isSuspended, createdAt }) => ({
        id,
        name,
        balance: formatMoney(balance),
        held: formatMoney(held),
        suspended: isSuspended,
        created_at: createdAt.toISOString(),
      })),
      text: formatTable(
        ['ID', 'NAME', 'BALANCE', 'HELD', 'STATE'],
        accounts.map(({ id, name, balance, held, isSuspended }) => [
          id,
          name,
          formatMoneyShort(balance),
          formatMoneyShort(held),
          isSuspended ? 'suspended' : 'active',
        ]),
      ),
    };
  },
};

const suspension = (name: string, summary: string, isSuspended: boolean): DatabaseCommand => ({
  name: `account ${name}`,
  summary,
  positionals: ['ACCOUNT'],
  run: async (sql, words) => {
    const id = readUuid(words.positionals[0] ?? '', 'ACCOUNT');
    if (!(await setSuspended(sql, id, isSuspended))) throw noSuchAccount(id);
    return {
      json: { id, suspended: isSuspended },
      text: `Account ${id} is ${isSuspended ? 'suspended: its keys are rejected' : 'active'}.`,
    };
  },
});

const suspend = suspension('suspend', 'Reject every key of an account until it is resumed.', true);
const resume = suspension('resume', 'Accept the keys of a suspended account again.', false);

export function noSuchAccount(id: string): OperatorError {
  return new OperatorError(`There is no account ${id}. List them with: tollgate account list`);
}

export const accountCommands = [create, creditAccount, suspend, resume, list];
