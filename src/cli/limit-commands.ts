import type { SQL } from 'bun';
import { accountExists } from '../accounts/account-store.ts';
import { ApiError } from '../errors.ts';
import { type LimitKind, type LimitScope, limitKinds } from '../ledger/operations.ts';
import { formatMoneyShort, type Money } from '../lib/money.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { shortTransaction } from '../lib/short-transaction.ts';
import {
  amountWords,
  endUserWords,
  leastAmount,
  leastIncrease,
  limitDraftOf,
  parseAmount,
  readEndUser,
} from '../limits/limit-body.ts';
import {
  createLimitAs,
  type Increase,
  type Limit,
  listLimits,
  removeLimitAs,
  updateLimitAs,
} from '../limits/limit-store.ts';
import { presentLimit } from '../limits/present.ts';
import { noSuchAccount } from './account-commands.ts';
import { type Arguments, readAccountId, readKeyId, readLimitId, readTime, UsageError } from './arguments.ts';
import { type DatabaseCommand, formatList } from './command.ts';
import { shellActor } from './shell-user.ts';

const account = { name: 'account', value: 'ID', required: true } as const;
const key = { name: 'key', value: 'ID' } as const;
const endUser = { name: 'end-user', value: 'NAME' } as const;

/** As commands write them. */
const kinds = new Map(limitKinds.map((kind) => [kind.replaceAll('_', '-'), kind]));

const set: DatabaseCommand = {
  name: 'limit set',
  summary: `Limit an account, a key or end users, or change that limit. KIND is one of ${[...kinds.keys()].join(', ')}.`,
  positionals: ['KIND', 'AMOUNT'],
  options: [
    account,
    key,
    endUser,
    { name: 'each-end-user', value: null },
    { name: 'increase', value: 'AMOUNT|none' },
    { name: 'until', value: 'ISO' },
  ],
  run: async (sql, words, config) => {
    const accountId = readAccountId(words.text('account') ?? '', '--account');
    const target = readTarget(words);
    const kind = readKind(words.positionals[0] ?? '');
    const amount = readAmount(words.positionals[1] ?? '', 'AMOUNT', kind, leastAmount(kind));
    const increase = readIncrease(words, kind);
    if (!(await accountExists(sql, accountId))) throw noSuchAccount(accountId);
    const limit = await shortTransaction(sql, async (transaction) => {
      const actor = shellActor(config);
      const existing = await findOwn(transaction, accountId, target, kind);
      if (existing !== null)
        return await updateLimitAs(transaction, actor, existing.id, { amount, increase });
      const wire = { scope: target.scope, key_id: target.keyId, end_user: target.endUser, kind };
      const now = new Date();
      const draft = limitDraftOf(
        { ...wire, amount: formatMoneyShort(amount), increase: null },
        { accountId, setBy: 'operator', now },
      );
      return await createLimitAs(transaction, actor, { ...draft, increase: increase ?? null });
    }).catch(inWords);
    return {
      json: presentLimit(limit, new Date()),
      text: `Limit ${limit.id} is set.\n${formatLimits([limit])}`,
    };
  },
};

type Target = Readonly<{ scope: LimitScope; keyId: string | null; endUser: string | null }>;

/** What the operator has set for the same. An owner's limit is another one. */
async function findOwn(sql: SQL, accountId: string, target: Target, kind: LimitKind): Promise<Limit | null> {
  const { scope, keyId, endUser: name } = target;
  const limits = await listLimits(sql, accountId, { keyId, endUser: name });
  const isSame = (limit: Limit) => limit.scope === scope && limit.kind === kind && limit.setBy === 'operator';
  return limits.find(isSame) ?? null;
}

function readTarget(words: Arguments): Target {
  const [keyText, name] = [words.text('key'), words.text('end-user')];
  const given = [keyText !== null, name !== null, words.flag('each-end-user')].filter(Boolean);
  if (given.length > 1) throw new UsageError('Give one of --key, --end-user and --each-end-user.');
  if (keyText !== null) return { scope: 'key', keyId: readKeyId(keyText, '--key'), endUser: null };
  if (name !== null) return { scope: 'end_user', keyId: null, endUser: readName(name) };
  return { scope: words.flag('each-end-user') ? 'each_end_user' : 'account', keyId: null, endUser: null };
}

function readName(text: string): string {
  const name = readEndUser(text);
  if (name === null) throw new UsageError(`--end-user must be ${endUserWords}.`);
  return name;
}

function readKind(text: string): LimitKind {
  const kind = kinds.get(text.replaceAll('_', '-'));
  if (kind === undefined)
    throw new UsageError(`KIND must be one of ${[...kinds.keys()].join(', ')}, but is "${text}".`);
  return kind;
}

function readAmount(text: string, what: string, kind: LimitKind, min: Money): Money {
  const amount = parseAmount(text, kind, min);
  if (amount === null) throw new UsageError(`${what} must be ${amountWords(kind, min)}, but is "${text}".`);
  return amount;
}

/** Undefined leaves it as it is, null ends it. */
function readIncrease(words: Arguments, kind: LimitKind): Increase | null | undefined {
  const [text, untilText] = [words.text('increase'), words.text('until')];
  if (text === 'none' && untilText === null) return null;
  if (text === null && untilText === null) return undefined;
  if (text === null || text === 'none' || untilText === null)
    throw new UsageError('An increase needs both --increase AMOUNT and --until TIME.');
  const until = readTime(untilText, '--until');
  if (until <= new Date()) throw new UsageError(`--until must be in the future, but is "${untilText}".`);
  return { amount: readAmount(text, '--increase', kind, leastIncrease(kind)), until };
}

const remove: DatabaseCommand = {
  name: 'limit remove',
  summary: 'Remove a limit.',
  positionals: ['ID'],
  run: async (sql, words, config) => {
    const id = readLimitId(words.positionals[0] ?? '', 'ID');
    await shortTransaction(sql, (transaction) => removeLimitAs(transaction, shellActor(config), id)).catch(
      inWords,
    );
    return { json: { id, removed: true }, text: `Limit ${id} is removed.` };
  },
};

const list: DatabaseCommand = {
  name: 'limit list',
  summary: 'List the limits of an account, its keys and its end users.',
  options: [account, key, endUser],
  run: async (sql, words) => {
    const accountId = readAccountId(words.text('account') ?? '', '--account');
    const [keyText, name] = [words.text('key'), words.text('end-user')];
    const limits = await listLimits(sql, accountId, {
      keyId: keyText === null ? null : readKeyId(keyText, '--key'),
      endUser: name === null ? null : readName(name),
    });
    if (limits.length === 0 && !(await accountExists(sql, accountId))) throw noSuchAccount(accountId);
    const now = new Date();
    return { json: limits.map((limit) => presentLimit(limit, now)), text: formatLimits(limits) };
  },
};

function formatLimits(limits: readonly Limit[]): string {
  const now = new Date();
  return formatList(
    ['ID', 'FOR', 'KIND', 'AMOUNT', 'INCREASE', 'USED', 'HELD', 'RESETS', 'SET BY'],
    limits
      .map((limit) => presentLimit(limit, now))
      .map((limit) => [
        limit.id,
        forWords(limit),
        limit.kind.replaceAll('_', '-'),
        limit.amount,
        limit.increase === null ? '-' : `${limit.increase.amount} until ${limit.increase.until}`,
        limit.used ?? '-',
        limit.held ?? '-',
        limit.resets_at ?? '-',
        limit.set_by,
      ]),
    'No limits yet.',
  );
}

function forWords({ scope, key_id, end_user }: ReturnType<typeof presentLimit>): string {
  if (scope === 'account') return 'the account';
  if (scope === 'each_end_user') return 'each end user';
  return scope === 'key' ? `key ${key_id}` : `end user ${end_user}`;
}

/** What the functions that all doors share refuse, without the form of an HTTP error. */
function inWords(error: unknown): never {
  throw error instanceof ApiError ? new OperatorError(error.message) : error;
}

export const limitCommands = [set, remove, list];
