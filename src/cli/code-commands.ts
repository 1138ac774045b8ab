/** Codes that give credit: `tollgate code …`. */
import { isUuid } from '../lib/ids.ts';
import { formatMoney, formatMoneyShort, type Money, moneyFromDatabase } from '../lib/money.ts';
import { shortTransaction } from '../lib/short-transaction.ts';
import {
  type CodeBatch,
  codeCategories,
  createCodesAs,
  findCodeBatches,
  maxCodes,
  maxGrantDays,
  voidCodesAs,
} from '../payments/codes.ts';
import { readCount, readDollars, readEnd, readLine, readOneOf, UsageError } from './arguments.ts';
import { type DatabaseCommand, formatList } from './command.ts';
import { shellActor } from './shell-user.ts';

const create: DatabaseCommand = {
  name: 'code create',
  summary: `Create codes that give credit, once each. They are shown only once. Categories: ${codeCategories.join(', ')}. --expires is for the codes; with --grant-days, the credit ends so many days after a code was redeemed.`,
  options: [
    { name: 'amount', value: 'USD', required: true },
    { name: 'count', value: 'N (1)' },
    { name: 'expires', value: 'ISO|DAYSd' },
    { name: 'category', value: 'CATEGORY (paid)' },
    { name: 'grant-days', value: 'N' },
    { name: 'note', value: 'TEXT' },
  ],
  run: async (sql, words, config) => {
    const expires = words.text('expires');
    const [grantDays, note] = [words.text('grant-days'), words.text('note')];
    const draft = {
      amount: readWorth(words.text('amount') ?? ''),
      count: readCount(words.text('count') ?? '1', '--count', maxCodes),
      category: readOneOf(words.text('category') ?? 'paid', '--category', codeCategories),
      expiresAt: expires === null ? null : readEnd(expires, '--expires'),
      grantDays: grantDays === null ? null : readCount(grantDays, '--grant-days', maxGrantDays),
      note: note === null ? null : readLine(note, '--note', 200),
    };
    const { batch, codes } = await shortTransaction(sql, (transaction) =>
      createCodesAs(transaction, shellActor(config), draft),
    );
    const { amount, category } = draft;
    const expiresAt = draft.expiresAt?.toISOString() ?? null;
    return {
      json: {
        batch,
        amount: formatMoney(amount),
        category,
        expires_at: expiresAt,
        grant_days: draft.grantDays,
        codes,
      },
      text: codes.join('\n'),
      warnings: [`Batch ${batch}: keep the codes safe, they are not shown again.`],
    };
  },
};

const list: DatabaseCommand = {
  name: 'code list',
  summary: 'List the newest 100 batches of codes, with how many were redeemed.',
  run: async (sql) => {
    const batches = await findCodeBatches(sql, 100);
    return { json: batches, text: formatBatches(batches) };
  },
};

const voidBatch: DatabaseCommand = {
  name: 'code void',
  summary: 'Void the codes of a batch that were not redeemed.',
  positionals: ['BATCH'],
  run: async (sql, words, config) => {
    const batch = words.positionals[0] ?? '';
    if (!isUuid(batch)) throw new UsageError(`BATCH must be the ID of a batch, but is "${batch}".`);
    const count = await shortTransaction(sql, (transaction) =>
      voidCodesAs(transaction, shellActor(config), batch),
    );
    return { json: { batch, voided: count }, text: `${count} codes were voided.` };
  },
};

function readWorth(text: string): Money {
  const amount = readDollars(text, '--amount');
  if (amount > 0n) return amount;
  throw new UsageError('--amount must be more than 0.');
}

function formatBatches(batches: readonly CodeBatch[]): string {
  return formatList(
    ['BATCH', 'USD', 'CATEGORY', 'CODES', 'REDEEMED', 'VOIDED', 'EXPIRES', 'LASTS', 'NOTE'],
    batches.map((batch) => [
      batch.batch,
      formatMoneyShort(moneyFromDatabase(batch.amount)),
      batch.category,
      `${batch.count}`,
      `${batch.redeemed}`,
      `${batch.voided}`,
      batch.expires_at?.toISOString() ?? '-',
      batch.grant_days === null ? '-' : `${batch.grant_days} days`,
      batch.note ?? '-',
    ]),
    'No codes yet.',
  );
}

export const codeCommands = [create, list, voidBatch];
