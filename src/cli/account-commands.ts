import { listAccounts } from '../accounts/account-store.ts';
import { createAccountAs, suspendAccountAs } from '../accounts/changes.ts';
import { giveCredit } from '../ledger/credit.ts';
import { referenceIdOf } from '../ledger/credit-reference.ts';
import { formatMoney, formatMoneyShort } from '../lib/money.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { readAccountId, readDollars, readLine, readOptionalLine, UsageError } from './arguments.ts';
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
    const id = await sql.begin((transaction) =>
      createAccountAs(transaction, shellActor(config), { name, credit: opening }),
    );
    return {
      json: { id, name, balance: formatMoney(opening) },
      text: `Account ${id} (${name}) has ${formatMoneyShort(opening)} USD.`,
    };
  },
};

const creditAccount: DatabaseCommand = {
  name: 'account credit',
  summary: 'Add credit to an account. With --reference, repeating the command adds nothing.',
  positionals: ['ACCOUNT', 'USD'],
  options: [
    { name: 'memo', value: 'TEXT' },
    { name: 'reference', value: 'REF' },
  ],
  run: async (sql, words, config) => {
    const [account = '', dollars = ''] = words.positionals;
    const id = readAccountId(account, 'ACCOUNT');
    const amount = readDollars(dollars, 'USD');
    if (amount === 0n) throw new UsageError('USD must be more than zero.');
    const reference = readOptionalLine(words.text('reference'), '--reference', 200);
    // Customers see the memo of a credit, so an invoice number that is given as the reference is shown there.
    const memo = readOptionalLine(words.text('memo'), '--memo', 500) ?? reference;
    const outcome = await giveCredit(sql, shellActor(config), {
      accountId: id,
      amount,
      memo,
      reference: reference === null ? null : referenceIdOf(reference),
    });
    if (outcome.kind === 'missing') throw noSuchAccount(id);
    if (outcome.kind === 'different')
      throw new OperatorError(
        `Reference ${reference} was used for a credit of ${formatMoneyShort(outcome.earlier)} USD to account ${id}. Another credit needs another reference.`,
      );
    const balance = formatMoneyShort(outcome.balance);
    const isRepeated = outcome.kind === 'repeated';
    return {
      json: {
        id,
        balance: formatMoney(outcome.balance),
        ...(reference === null ? {} : { already_credited: isRepeated }),
      },
      text: isRepeated
        ? `Reference ${reference} was already credited: nothing was added. Account ${id} has ${balance} USD.`
        : `Account ${id} now has ${balance} USD.`,
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

export function noSuchAccount(id: string): OperatorError {
  return new OperatorError(`There is no account ${id}. List them with: tollgate account list`);
}

export const accountCommands = [create, creditAccount, suspend, resume, list];
