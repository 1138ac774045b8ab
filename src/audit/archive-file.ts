/**
 * The file of an archived month: one line per ledger entry, in the order of accounts and numbers, each charge with its
 * usage record. A file can be checked by itself, and against what the database knows about it.
 */
import { z } from 'zod';
import { readLines } from '../lib/gzip-lines.ts';
import { type Money, parseMoney } from '../lib/money.ts';

export const archiveHeader = z.object({
  tollgate_ledger_archive: z.literal(1),
  /** Null for the first partition, which has everything up to its end. */
  begins_on: z.string().nullable(),
  ends_on: z.string(),
});

const amount = z.string().transform((text, context): Money => {
  const money = parseMoney(text);
  if (money === null) context.addIssue({ code: 'custom', message: 'not an amount' });
  return money ?? 0n;
});

/** What is checked; the lines have all columns. */
const archiveLine = z.object({
  entry: z.object({
    account_id: z.string(),
    number: z.string().regex(/^\d+$/).transform(BigInt),
    kind: z.string(),
    amount,
    balance_after: amount,
    generation_id: z.string().nullable(),
  }),
  usage: z.object({ id: z.string(), cost: amount }).nullable(),
});

/** Where the entries of one account begin and end in the file. */
export type AccountRange = Readonly<{
  firstNumber: bigint;
  lastNumber: bigint;
  balanceBefore: Money;
  balanceAfter: Money;
}>;

export type ArchiveContent = Readonly<{
  endsOn: string;
  entryCount: number;
  recordCount: number;
  ranges: ReadonlyMap<string, AccountRange>;
  /** Entries that do not follow from the one before, and charges that are not what their usage record says. */
  violations: number;
}>;

/** Reads the whole file. Throws if it is damaged. */
export async function readArchive(file: string): Promise<ArchiveContent> {
  const ranges = new Map<string, AccountRange>();
  let endsOn: string | null = null;
  let entryCount = 0;
  let recordCount = 0;
  let violations = 0;
  for await (const line of readLines(file)) {
    const value: unknown = JSON.parse(line);
    if (endsOn === null) {
      endsOn = archiveHeader.parse(value).ends_on;
      continue;
    }
    const { entry, usage } = archiveLine.parse(value);
    const { account_id: accountId, number, balance_after: balanceAfter } = entry;
    const range = ranges.get(accountId);
    const follows =
      range === undefined ||
      (number === range.lastNumber + 1n && balanceAfter === range.balanceAfter + entry.amount);
    const isCharge = entry.kind === 'charge';
    const matches = isCharge
      ? usage?.id === entry.generation_id && usage.cost === -entry.amount
      : usage === null;
    if (!follows || !matches) violations += 1;
    entryCount += 1;
    if (usage !== null) recordCount += 1;
    ranges.set(accountId, {
      firstNumber: range?.firstNumber ?? number,
      lastNumber: number,
      balanceBefore: range?.balanceBefore ?? balanceAfter - entry.amount,
      balanceAfter,
    });
  }
  return { endsOn: endsOn ?? '', entryCount, recordCount, ranges, violations };
}
