import { accountExists, listAccounts } from '../accounts/account-store.ts';
import { createAccountAs, suspendAccountAs, updateAccountAs } from '../accounts/changes.ts';
import { formatMoney, formatMoneyShort } from '../lib/money.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { shortTransaction } from '../lib/short-transaction.ts';
import { readCatalogFile } from '../models/catalog-store.ts';
import { readAccountId, readDollars, readLine } from './arguments.ts';
import { type DatabaseCommand, formatList } from './command.ts';
import { shellActor } from './shell-user.ts';

const create: DatabaseCommand = {
  name: 'account create',
  summary: 'Create a prepaid account, optionally with an opening credit.',
  options: [
    { name: 'name', value: 'NAME', required: true },
    { name: 'credit', value: 'USD' },
  ],
  run: async (sql, words, config) => {
    const name = readLine(words.text('name') ?? '', '--name', 200);
    const opening = readDollars(words.text('credit') ?? '0', '--credit');
    const id = await shortTransaction(sql, (transaction) =>
      createAccountAs(transaction, shellActor(config), { name, credit: opening }),
    );
    return {
      json: { id, name, balance: formatMoney(opening) },
      text: `Account ${id} (${name}) has ${formatMoneyShort(opening)} USD.`,
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
      text: formatList(
        ['ID', 'NAME', 'BALANCE', 'HELD', 'STATE'],
        accounts.map(({ id, name, balance, held, isSuspended }) => [
          id,
          name,
          formatMoneyShort(balance),
          formatMoneyShort(held),
          isSuspended ? 'suspended' : 'active',
        ]),
        'No accounts yet.',
      ),
    };
  },
};

const suspension = (name: string, summary: string, isSuspended: boolean): DatabaseCommand => ({
  name: `account ${name}`,
  summary,
  positionals: ['ACCOUNT'],
  run: async (sql, words, config) => {
    const id = readAccountId(words.positionals[0] ?? '', 'ACCOUNT');
    if (!(await suspendAccountAs(sql, shellActor(config), id, isSuspended))) throw noSuchAccount(id);
    return {
      json: { id, suspended: isSuspended },
      text: `Account ${id} is ${isSuspended ? 'suspended: its keys are rejected' : 'active'}.`,
    };
  },
});

const suspend = suspension('suspend', 'Reject every key of an account until it is resumed.', true);
const resume = suspension('resume', 'Accept the keys of a suspended account again.', false);

const priceGroup: DatabaseCommand = {
  name: 'account price-group',
  summary: 'Charge an account the prices of a group of the catalogue, or without GROUP list prices.',
  positionals: ['ACCOUNT', '[GROUP]'],
  run: async (sql, words, config) => {
    const [account = '', group = null] = words.positionals;
    const id = readAccountId(account, 'ACCOUNT');
    if (group !== null) await requirePriceGroup(config.catalogFile, group);
    if (!(await accountExists(sql, id))) throw noSuchAccount(id);
    await shortTransaction(sql, (transaction) =>
      updateAccountAs(transaction, shellActor(config), id, { priceGroup: group }),
    );
    return {
      json: { id, price_group: group },
      text: `Account ${id} pays ${group === null ? 'list prices' : `the prices of the group ${group}`}.`,
    };
  },
};

async function requirePriceGroup(file: string, group: string): Promise<void> {
  const { result } = await readCatalogFile(file);
  if (!result.ok) throw new OperatorError(`${result.problems.join('\n')}\nNothing was changed.`);
  const names = [...result.catalog.priceGroups.keys()];
  if (names.includes(group)) return;
  const known = names.length === 0 ? 'It has none.' : `It has ${names.join(', ')}.`;
  throw new OperatorError(`The catalogue ${file} has no price group ${group}. ${known}`);
}

export function noSuchAccount(id: string): OperatorError {
  return new OperatorError(`There is no account ${id}. List them with: tollgate account list`);
}

export const accountCommands = [create, suspend, resume, priceGroup, list];
