/** Grants and allowances: `tollgate grant …` and `tollgate allowance …`. Grants are given with `tollgate account credit`. */
import { accountExists } from '../accounts/account-store.ts';
import {
  type Allowance,
  allowancePeriods,
  createAllowanceAs,
  endAllowanceAs,
  findAccountOfAllowance,
  findAllowances,
  maxAllowances,
} from '../grants/allowances.ts';
import {
  findAccountOfGrant,
  findActiveGrants,
  findGrants,
  type Grant,
  voidGrant,
} from '../grants/grant-store.ts';
import { presentAllowance, presentGrant } from '../grants/present.ts';
import { refusalOfVoid } from '../grants/refusals.ts';
import { defaultPriority } from '../ledger/movements.ts';
import { formatMoney, formatMoneyShort } from '../lib/money.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { shortTransaction } from '../lib/short-transaction.ts';
import { noSuchAccount } from './account-commands.ts';
import {
  readAccountId,
  readAllowanceId,
  readDollars,
  readGrantId,
  readLine,
  readOneOf,
  readOptionalLine,
  readPriority,
  UsageError,
} from './arguments.ts';
import { type DatabaseCommand, formatList } from './command.ts';
import { shellActor } from './shell-user.ts';

const account = { name: 'account', value: 'ID', required: true } as const;
const maxWords = 500;
const maxGrants = 1_000;

const listGrants: DatabaseCommand = {
  name: 'grant list',
  summary:
    'List the grants of an account that can still be spent, in the order of spending, or with --all the newest 1,000 of all grants.',
  options: [account, { name: 'all', value: null }],
  run: async (sql, words) => {
    const accountId = readAccountId(words.text('account') ?? '', '--account');
    if (!(await accountExists(sql, accountId))) throw noSuchAccount(accountId);
    const find = words.flag('all') ? findGrants : findActiveGrants;
    const grants = await find(sql, accountId, { count: maxGrants });
    return { json: grants.map(presentGrant), text: formatGrants(grants) };
  },
};

const voidOne: DatabaseCommand = {
  name: 'grant void',
  summary:
    'End a grant now. What is left of it leaves the balance; what is held for requests, when they have ended. The customer sees the reason. Repeating the command changes nothing.',
  positionals: ['GRANT'],
  options: [{ name: 'reason', value: 'TEXT', required: true }],
  run: async (sql, words, config) => {
    const id = readGrantId(words.positionals[0] ?? '', 'GRANT');
    const reason = readLine(words.text('reason') ?? '', '--reason', maxWords);
    const accountId = await findAccountOfGrant(sql, id);
    if (accountId === null) throw new OperatorError(`There is no grant ${id}.`);
    const result = await voidGrant(sql, shellActor(config), { accountId, id, reason });
    const refusal = refusalOfVoid(result);
    if (refusal !== null) throw new OperatorError(refusal.message);
    const taken = result.outcome === 'voided' ? result.taken : null;
    return {
      json: {
        id,
        account: accountId,
        taken: taken === null ? null : formatMoney(taken),
        already_voided: taken === null,
      },
      text:
        taken === null
          ? `Grant ${id} was voided before, and nothing was changed.`
          : `Grant ${id} is voided: ${formatMoneyShort(taken)} USD left account ${accountId}.`,
    };
  },
};

const createAllowance: DatabaseCommand = {
  name: 'allowance create',
  summary:
    'Give an account credit anew each day, week or month (UTC), the first time at once and in full. What is left of it ends when the next is given. The customer sees the note.',
  options: [
    account,
    { name: 'amount', value: 'USD', required: true },
    { name: 'every', value: allowancePeriods.join('|'), required: true },
    { name: 'priority', value: `0-100 (${defaultPriority})` },
    { name: 'note', value: 'TEXT' },
  ],
  run: async (sql, words, config) => {
    const accountId = readAccountId(words.text('account') ?? '', '--account');
    const amount = readDollars(words.text('amount') ?? '', '--amount');
    if (amount === 0n) throw new UsageError('--amount must be more than zero.');
    const draft = {
      accountId,
      amount,
      every: readOneOf(words.text('every') ?? '', '--every', allowancePeriods),
      priority: readPriority(words.text('priority') ?? `${defaultPriority}`, '--priority'),
      note: readOptionalLine(words.text('note'), '--note', maxWords),
    };
    const created = await shortTransaction(sql, (transaction) =>
      createAllowanceAs(transaction, shellActor(config), draft),
    );
    if (created === 'no_account') throw noSuchAccount(accountId);
    if (created === 'too_many')
      throw new OperatorError(
        `Account ${accountId} has ${maxAllowances} allowances, and cannot have more. End one that is no longer needed.`,
      );
    return {
      json: presentAllowance(created),
      text: `Allowance ${created.id}: ${formatMoneyShort(amount)} USD were given, and are again at ${created.nextAt.toISOString()}.`,
    };
  },
};

const listAllowances: DatabaseCommand = {
  name: 'allowance list',
  summary: 'List the allowances of an account. Those that have not ended come first.',
  options: [account],
  run: async (sql, words) => {
    const accountId = readAccountId(words.text('account') ?? '', '--account');
    if (!(await accountExists(sql, accountId))) throw noSuchAccount(accountId);
    const allowances = await findAllowances(sql, accountId);
    return { json: allowances.map(presentAllowance), text: formatAllowances(allowances) };
  },
};

const endAllowance: DatabaseCommand = {
  name: 'allowance end',
  summary: 'Do not give an allowance again. What was given stays until its own end.',
  positionals: ['ALLOWANCE'],
  run: async (sql, words, config) => {
    const id = readAllowanceId(words.positionals[0] ?? '', 'ALLOWANCE');
    const accountId = await findAccountOfAllowance(sql, id);
    const ended =
      accountId === null
        ? null
        : await shortTransaction(sql, (transaction) =>
            endAllowanceAs(transaction, shellActor(config), { id, accountId }),
          );
    if (ended === null) throw new OperatorError(`There is no allowance ${id}.`);
    return { json: presentAllowance(ended), text: `Allowance ${id} has ended.` };
  },
};

function formatGrants(grants: readonly Grant[]): string {
  return formatList(
    ['GRANT', 'ENTRY', 'CATEGORY', 'AMOUNT', 'LEFT', 'PRIORITY', 'EXPIRES', 'STATE', 'MEMO'],
    grants.map((grant) => [
      grant.id,
      grant.number === 0n ? '-' : `${grant.number}`,
      grant.category,
      formatMoneyShort(grant.amount),
      formatMoneyShort(grant.remaining),
      `${grant.priority}`,
      grant.expiresAt?.toISOString() ?? '-',
      grant.state,
      grant.number === 0n ? 'before the first grant' : (grant.memo ?? '-'),
    ]),
    'No grants: everything on this account is paid credit.',
  );
}

function formatAllowances(allowances: readonly Allowance[]): string {
  return formatList(
    ['ALLOWANCE', 'AMOUNT', 'EVERY', 'PRIORITY', 'NEXT', 'ENDED', 'NOTE'],
    allowances.map((allowance) => [
      allowance.id,
      formatMoneyShort(allowance.amount),
      allowance.every,
      `${allowance.priority}`,
      allowance.endedAt === null ? allowance.nextAt.toISOString() : '-',
      allowance.endedAt?.toISOString() ?? '-',
      allowance.note ?? '-',
    ]),
    'No allowances yet.',
  );
}

export const grantCommands = [listGrants, voidOne, createAllowance, listAllowances, endAllowance];
