/** Money that is moved by hand: credits, corrections, refunds, and the entries that they become. */
import type { SQL } from 'bun';
import { accountExists } from '../accounts/account-store.ts';
import type { ShellActor } from '../audit-log/audit-log.ts';
import { type Draw, findDraws } from '../grants/grant-store.ts';
import { presentDraws } from '../grants/present.ts';
import { type Entry, findEntries, findEntryNumber, newestEntry } from '../ledger/entries.ts';
import {
  type Booked,
  book,
  type Correction,
  defaultPriority,
  findUndone,
  type GrantTerms,
  grantCategories,
  isBooked,
  type Movement,
  preview,
  type Refused,
} from '../ledger/movements.ts';
import { refusalOf } from '../ledger/refusals.ts';
import { newId, requestIdFromUuid, uuidFromRequestId } from '../lib/ids.ts';
import { formatMoney, formatMoneyShort, type Money } from '../lib/money.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { noSuchAccount } from './account-commands.ts';
import {
  type Arguments,
  readAccountId,
  readCount,
  readDollars,
  readEnd,
  readLine,
  readOneOf,
  readOptionalLine,
  readPriority,
  UsageError,
} from './arguments.ts';
import { type DatabaseCommand, formatList, type Outcome } from './command.ts';
import { shellActor } from './shell-user.ts';

const maxWords = 500;
const maxReference = 200;
const dryRun = { name: 'dry-run', value: null } as const;

const credit: DatabaseCommand = {
  name: 'account credit',
  summary:
    'Add credit to an account. With --reference, repeating the command adds nothing. With --category, --expires or --priority it is a grant: what expires leaves, and the lower priority is spent first.',
  positionals: ['ACCOUNT', 'USD'],
  options: [
    { name: 'memo', value: 'TEXT' },
    { name: 'reference', value: 'REF' },
    { name: 'category', value: grantCategories.join('|') },
    { name: 'expires', value: 'ISO|DAYSd' },
    { name: 'priority', value: '0-100 (50)' },
  ],
  run: async (sql, words, config) => {
    const [account = '', dollars = ''] = words.positionals;
    const id = readAccountId(account, 'ACCOUNT');
    const amount = readAmount(dollars, 'USD');
    const reference = readOptionalLine(words.text('reference'), '--reference', maxReference);
    // Customers see the memo of a credit, so an invoice number that is given as the reference is shown there.
    const memo = readOptionalLine(words.text('memo'), '--memo', maxWords) ?? reference;
    const grant = readTerms(words);
    const movement = { kind: 'credit', accountId: id, amount, memo, reference, grant } as const;
    const { outcome, balance, entryNumber } = await move(sql, shellActor(config), movement, false);
    const now = formatMoneyShort(balance);
    const isRepeated = outcome === 'repeated';
    return {
      json: {
        id,
        entry: entryNumber === null ? null : Number(entryNumber),
        balance: formatMoney(balance),
        ...(grant?.expiresAt && !isRepeated ? { expires_at: grant.expiresAt.toISOString() } : {}),
        ...(reference === null ? {} : { already_credited: isRepeated }),
      },
      text: isRepeated
        ? `Reference ${reference} was already credited: nothing was added. Account ${id} has ${now} USD.`
        : `Account ${id} now has ${now} USD. This is its entry ${entryNumber}.`,
    };
  },
};

const correct: DatabaseCommand = {
  name: 'account correct',
  summary:
    'Add to the balance of an account, or take from it what is not held. The customer sees the reason. Repeating the command with the same reference changes nothing. With --dry-run, only shows the balance after it.',
  positionals: ['ACCOUNT'],
  options: [
    { name: 'add', value: 'USD' },
    { name: 'take', value: 'USD' },
    { name: 'reason', value: 'TEXT', required: true },
    { name: 'reference', value: 'REF', required: true },
    { name: 'entry', value: 'NUMBER' },
    { name: 'request', value: 'REQUEST' },
    dryRun,
  ],
  run: async (sql, words, config) => {
    return await moveAndTell(sql, shellActor(config), words, {
      kind: 'correction',
      accountId: readAccountId(words.positionals[0] ?? '', 'ACCOUNT'),
      amount: readSigned(words),
      reason: readLine(words.text('reason') ?? '', '--reason', maxWords),
      reference: readLine(words.text('reference') ?? '', '--reference', maxReference),
      about: readConcern(words),
    });
  },
};

const undo: DatabaseCommand = {
  name: 'account undo',
  summary:
    'Take back a credit or correction, such as a credit to the wrong account: the entry by its number, or by the reference it was made with. Repeating the command changes nothing. With --dry-run, only shows the balance after it.',
  positionals: ['ACCOUNT', '[ENTRY]'],
  options: [{ name: 'reference', value: 'REF' }, { name: 'reason', value: 'TEXT' }, dryRun],
  run: async (sql, words, config) => {
    const [account = '', entry] = words.positionals;
    const accountId = readAccountId(account, 'ACCOUNT');
    const reference = readOptionalLine(words.text('reference'), '--reference', maxReference);
    if ((entry === undefined) === (reference === null))
      throw new UsageError('Which entry? Give its number or --reference, as it was made with.');
    const number =
      reference === null ? readEntry(entry ?? '', 'ENTRY') : await entryWith(sql, accountId, reference);
    const movement = {
      kind: 'correction',
      accountId,
      amount: 'rest',
      reason: readOptionalLine(words.text('reason'), '--reason', maxWords) ?? `Undoes entry ${number}`,
      // A new one each time: an entry is undone once because then nothing is left of it, and again if that was undone.
      reference: newId(),
      about: { entryNumber: number },
    } as const;
    const isDryRun = words.flag('dry-run');
    const result = await (isDryRun ? preview : book)(sql, shellActor(config), movement);
    const undone = result.outcome === 'nothing_left' ? await findUndone(sql, accountId, number) : null;
    return tell(undone ?? orThrow(result, movement), movement.kind, isDryRun);
  },
};

const refund: DatabaseCommand = {
  name: 'generation refund',
  summary:
    'Give back what a request was charged, or a part of it. The customer sees the reason. Repeating the command with the same reference changes nothing. With --dry-run, only shows the balance after it.',
  positionals: ['REQUEST', '[USD]'],
  options: [
    { name: 'reason', value: 'TEXT', required: true },
    { name: 'reference', value: 'REF', required: true },
    dryRun,
  ],
  run: async (sql, words, config) => {
    const [request = '', dollars] = words.positionals;
    return await moveAndTell(sql, shellActor(config), words, {
      kind: 'refund',
      generationId: readRequest(request, 'REQUEST'),
      accountId: null,
      amount: dollars === undefined ? 'rest' : readAmount(dollars, 'USD'),
      reason: readLine(words.text('reason') ?? '', '--reason', maxWords),
      reference: readLine(words.text('reference') ?? '', '--reference', maxReference),
    });
  },
};

const defaultEntries = 20;
const maxEntries = 1_000;

const entries: DatabaseCommand = {
  name: 'account entries',
  summary: 'List the newest entries of an account: every movement of its balance, and who made it.',
  positionals: ['ACCOUNT'],
  options: [{ name: 'limit', value: 'N' }],
  run: async (sql, words) => {
    const id = readAccountId(words.positionals[0] ?? '', 'ACCOUNT');
    const limit = readCount(words.text('limit') ?? `${defaultEntries}`, '--limit', maxEntries);
    if (!(await accountExists(sql, id))) throw noSuchAccount(id);
    const found = await findEntries(sql, id, newestEntry, limit);
    const draws = await findDraws(sql, id, found);
    return {
      json: found.map((entry) => presentEntry(entry, draws.get(entry.number))),
      text: formatList(
        ['ENTRY', 'TIME', 'KIND', 'AMOUNT', 'BALANCE AFTER', 'ABOUT', 'BY'],
        found.map((entry) => [
          `${entry.number}`,
          entry.createdAt.toISOString(),
          entry.kind,
          formatMoneyShort(entry.amount),
          formatMoneyShort(entry.balanceAfter),
          aboutOf(entry),
          entry.actor ?? '-',
        ]),
        'No entries yet.',
      ),
    };
  },
};

function presentEntry(entry: Entry, draws: readonly Draw[] | undefined) {
  const generationId = entry.generationId ?? entry.concernsGenerationId;
  return {
    number: Number(entry.number),
    kind: entry.kind,
    amount: formatMoney(entry.amount),
    balance_after: formatMoney(entry.balanceAfter),
    is_estimated: entry.isEstimated,
    memo: entry.memo,
    reference: entry.reference,
    actor: entry.actor,
    request_id: generationId === null ? null : requestIdFromUuid(generationId),
    concerns_entry: entry.concernsEntry === null ? null : Number(entry.concernsEntry),
    drawn_from: presentDraws(draws),
    created_at: entry.createdAt.toISOString(),
  };
}

function aboutOf(entry: Entry): string {
  const generationId = entry.generationId ?? entry.concernsGenerationId;
  const subject = [
    ...(generationId === null ? [] : [requestIdFromUuid(generationId)]),
    ...(entry.concernsEntry === null ? [] : [`entry ${entry.concernsEntry}`]),
    ...(entry.memo === null ? [] : [entry.memo]),
  ];
  return subject.join(': ') || '-';
}

async function move(sql: SQL, actor: ShellActor, movement: Movement, isDryRun: boolean): Promise<Booked> {
  return orThrow(await (isDryRun ? preview : book)(sql, actor, movement), movement);
}

function orThrow(result: Booked | Refused, movement: Movement): Booked {
  if (isBooked(result)) return result;
  if (result.outcome === 'no_account' && movement.accountId !== null) throw noSuchAccount(movement.accountId);
  throw new OperatorError(refusalOf(result).message);
}

async function moveAndTell(
  sql: SQL,
  actor: ShellActor,
  words: Arguments,
  movement: Exclude<Movement, { kind: 'credit' }>,
): Promise<Outcome> {
  const isDryRun = words.flag('dry-run');
  return tell(await move(sql, actor, movement, isDryRun), movement.kind, isDryRun);
}

function tell(booked: Booked, kind: 'correction' | 'refund', isDryRun: boolean): Outcome {
  const { accountId, amount, balance, held, entryNumber, outcome } = booked;
  return {
    json: {
      account: accountId,
      kind,
      entry: entryNumber === null ? null : Number(entryNumber),
      amount: formatMoney(amount),
      balance: formatMoney(balance),
      held: formatMoney(held),
      already_booked: outcome === 'repeated',
      dry_run: isDryRun,
    },
    text: describe(booked, kind, isDryRun),
  };
}

function describe(
  { outcome, accountId, amount, balance, held, entryNumber }: Booked,
  kind: string,
  isDryRun: boolean,
): string {
  const what = `${kind === 'refund' ? 'Refund' : 'Correction'} of ${formatMoneyShort(amount)} USD`;
  const money = `${formatMoneyShort(balance)} USD`;
  const ofThat = held === 0n ? '' : `, of which ${formatMoneyShort(held)} are held`;
  if (outcome === 'repeated')
    return `${what}: it was booked before, and nothing was changed. Account ${accountId} has ${money}${ofThat}.`;
  return isDryRun
    ? `${what}: account ${accountId} would have ${money}${ofThat}. Nothing was changed.`
    : `${what}, entry ${entryNumber}: account ${accountId} now has ${money}${ofThat}.`;
}

/** Null for a plain credit. */
function readTerms(words: Arguments): GrantTerms | null {
  const category = words.text('category');
  const [expires, priority] = [words.text('expires'), words.text('priority')];
  if (category === null && expires === null && priority === null) return null;
  return {
    category: readOneOf(category ?? 'paid', '--category', grantCategories),
    priority: priority === null ? defaultPriority : readPriority(priority, '--priority'),
    expiresAt: expires === null ? null : readEnd(expires, '--expires'),
  };
}

function readAmount(text: string, what: string): Money {
  const amount = readDollars(text, what);
  if (amount === 0n) throw new UsageError(`${what} must be more than zero.`);
  return amount;
}

function readSigned(words: Arguments): Money {
  const [add, take] = [words.text('add'), words.text('take')];
  if (add !== null && take === null) return readAmount(add, '--add');
  if (take !== null && add === null) return -readAmount(take, '--take');
  throw new UsageError('Give either --add or --take.');
}

function readConcern(words: Arguments): Correction['about'] | null {
  const [entry, request] = [words.text('entry'), words.text('request')];
  if (entry !== null && request !== null)
    throw new UsageError('A correction is about an entry or about a request: give one of them.');
  if (entry !== null) return { entryNumber: readEntry(entry, '--entry') };
  return request === null ? null : { generationId: readRequest(request, '--request') };
}

function readEntry(text: string, what: string): bigint {
  if (/^[1-9]\d{0,17}$/.test(text)) return BigInt(text);
  throw new UsageError(
    `${what} must be the number of an entry, but is "${text}". tollgate account entries ACCOUNT shows them.`,
  );
}

function readRequest(text: string, what: string): string {
  const id = uuidFromRequestId(text);
  if (id !== null) return id;
  throw new UsageError(
    `${what} must be a request ID such as req_01890a5dac96774bbcceb302099a8057, but is "${text}".`,
  );
}

async function entryWith(sql: SQL, accountId: string, reference: string): Promise<bigint> {
  const number = await findEntryNumber(sql, accountId, reference);
  if (number === null)
    throw new OperatorError(`Account ${accountId} has no entry with reference ${reference}.`);
  return number;
}

export const movementCommands = [credit, correct, undo, entries, refund];
