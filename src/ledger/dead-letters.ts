/** Settlements that the database rejected, stored for inspection and for a retry once the cause is fixed. */
import type { SQL } from 'bun';
import type { Money } from '../lib/money.ts';
import type { Ledger } from './ledger.ts';
import type { DatabaseErrorSummary, Settlement } from './operations.ts';
import { parseSettlement, withheld } from './settlement.ts';

export type DeadLetter = Readonly<{
  generationId: string;
  accountId: string;
  createdAt: Date;
  error: DatabaseErrorSummary;
  /** The charge; null when there was none, or when the settlement can no longer be read. */
  amount: Money | null;
}>;

type DeadLetterRow = Omit<DeadLetter, 'amount'> & { settlement: unknown };

const maxAtOnce = 1_000;

/** The oldest first. */
export async function findDeadLetters(sql: SQL, max = maxAtOnce): Promise<DeadLetter[]> {
  const rows = await readRows(sql, max);
  return rows.map(({ settlement, ...letter }) => ({
    ...letter,
    amount: settlementIn(settlement)?.cost?.total ?? null,
  }));
}

/** Those that are rejected again stay where they are. */
export async function retryDeadLetters(
  sql: SQL,
  ledger: Pick<Ledger, 'settleOnce'>,
): Promise<{ settled: number; refused: number }> {
  const outcome = { settled: 0, refused: 0 };
  for (const row of await readRows(sql, maxAtOnce)) {
    const settlement = settlementIn(row.settlement);
    const isSettled = settlement !== null && (await retry(sql, ledger, settlement));
    outcome[isSettled ? 'settled' : 'refused'] += 1;
  }
  return outcome;
}

/** Whether the dead letter has been dealt with. */
async function retry(sql: SQL, ledger: Pick<Ledger, 'settleOnce'>, settlement: Settlement): Promise<boolean> {
  try {
    if (!(await isAccepted(ledger, settlement))) return false;
    // That includes a Generation that was settled before, or whose request was taken over.
    await sql`delete from dead_letters where generation_id = ${settlement.generation.id}`;
    return true;
  } catch {
    return false;
  }
}

/** A withheld response was never delivered, so nobody pays for it. Its attempts are kept unless they are the cause. */
async function isAccepted(ledger: Pick<Ledger, 'settleOnce'>, settlement: Settlement): Promise<boolean> {
  if (settlement.onInsufficientBalance !== 'withhold')
    return (await ledger.settleOnce(settlement)) !== 'set_aside';
  const unpaid = withheld(settlement);
  if ((await ledger.settleOnce(unpaid)) !== 'set_aside') return true;
  return (await ledger.settleOnce({ ...unpaid, attempts: [] })) !== 'set_aside';
}

function readRows(sql: SQL, max: number): Promise<DeadLetterRow[]> {
  return sql<DeadLetterRow[]>`
    select generation_id as "generationId", account_id as "accountId", settlement,
           json_build_object('code', refusal_code, 'about', refusal_about) as error, created_at as "createdAt"
    from dead_letters order by created_at, generation_id limit ${max}`;
}

function settlementIn(stored: unknown): Settlement | null {
  return parseSettlement(typeof stored === 'string' ? stored : JSON.stringify(stored));
}
