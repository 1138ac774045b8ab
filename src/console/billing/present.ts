/** A statement in the words of the console's contract. */
import { presentPage } from '../../http/present-page.ts';
import { requestIdFromUuid } from '../../lib/ids.ts';
import type { LedgerEntry, Statement } from '../contract.ts';
import type { Entry, LedgerPart } from './ledger-queries.ts';

/** `part` holds one entry more than the limit when there is another page. */
export function presentStatement({ balance, held, entries }: LedgerPart, limit: number): Statement {
  return { balance, held, ...presentPage(entries, limit, presentEntry, ({ number }) => `${number}`) };
}

function presentEntry(entry: Entry): LedgerEntry {
  const { generationId, model } = entry;
  return {
    number: Number(entry.number),
    kind: entry.kind,
    amount: entry.amount,
    is_estimated: entry.isEstimated,
    balance_after: entry.balanceAfter,
    memo: entry.memo,
    generation: generationId === null ? null : { id: requestIdFromUuid(generationId), model },
    created_at: entry.createdAt.toISOString(),
  };
}
