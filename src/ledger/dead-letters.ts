/** Settlements that the database refused for good: to be looked at, and to be tried again once the reason is mended. */
import type { SQL } from 'bun';
import type { Money } from '../lib/money.ts';
import type { Ledger } from './ledger.ts';
import type { Settlement } from './operations.ts';
import { withheld } from './settlement.ts';
import { parseSettlement } from './spool-format.ts';

export type DeadLetter = Readonly<{
  generationId: string;
  accountId: string;
  createdAt: Date;
  /** PostgreSQL's code, and the constraint, column or table that it complained of. */
  refusalCode: string;
  refusalAbout: string;
  /** What was to be charged; null when nothing was, or when it can no longer be read. */
  amount: Money | null;
}>;

type DeadLetterRow = {
  generation_id: string;
  account_id: string;
  settlement: unknown;
  refusal_code: string;
  refusal_about: string;
  created_at: Date;
};

const mostAtOnce = 1_000;

/** The oldest first. */
export async function findDeadLetters(sql: SQL, most = mostAtOnce): Promise<DeadLetter[]> {
  const rows = await readRows(sql, most);
  return rows.map((row) => ({
    generationId: row.generation_id,
    accountId: row.account_id,
    createdAt: row.created_at,
    refusalCode: row.refusal_code,
    refusalAbout: row.refusal_about,
    amount: settlementIn(row)?.cost?.total ?? null,
  }));
}

/** Those that are refused again stay where they are. */
export async function retryDeadLetters(
  sql: SQL,
  ledger: Pick<Ledger, 'settleOnce'>,
): Promise<{ settled: number; refused: number }> {
  const outcome = { settled: 0, refused: 0 };
  for (const row of await readRows(sql, mostAtOnce)) {
    const settlement = settlementIn(row);
    const isSettled = settlement !== null && (await retry(sql, ledger, settlement));
    outcome[isSettled ? 'settled' : 'refused'] += 1;
  }
  return outcome;
}

/** Whether it is done with. */
async function retry(sql: SQL, ledger: Pick<Ledger, 'settleOnce'>, settlement: Settlement): Promise<boolean> {
  try {
    // Nobody got a response that was withheld, so nobody pays for it.
    const isWithheld = settlement.whenShort === 'withhold';
    const result = await ledger.settleOnce(
      isWithheld ? { ...withheld(settlement), attempts: [] } : settlement,
    );
    if (result === 'refused') return false;
    // One that stays as it ended, because its name was taken over or it was settled before, is done with too.
    await sql`delete from dead_letters where generation_id = ${settlement.generation.id}`;
    return true;
  } catch {
    return false;
  }
}

function readRows(sql: SQL, most: number): Promise<DeadLetterRow[]> {
  return sql<DeadLetterRow[]>`
    select generation_id, account_id, settlement, refusal_code, refusal_about, created_at
    from dead_letters order by created_at, generation_id limit ${most}`;
}

function settlementIn({ settlement }: DeadLetterRow): Settlement | null {
  return parseSettlement(typeof settlement === 'string' ? settlement : JSON.stringify(settlement));
}
