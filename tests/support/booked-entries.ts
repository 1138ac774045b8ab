/** Ledger entries of any kind and time, with the balance after each, as if the gateway had booked them then. */
import type { SQL } from 'bun';
import type { EntryKind } from '../../src/ledger/entries.ts';
import { newId } from '../../src/lib/ids.ts';
import { formatMoney, type Money, moneyFromDatabase } from '../../src/lib/money.ts';

export type BookedEntry = Readonly<{
  kind: EntryKind;
  amount: Money;
  /** Not before the entries that there are. */
  at: Date | string;
  /** Of a credit; null for a plain one. */
  category?: string | null;
  /** Of a charge or a refund. */
  model?: string;
  keyId?: string;
}>;

/** The balance must stay positive. */
export async function bookEntries(
  sql: SQL,
  accountId: string,
  entries: readonly BookedEntry[],
): Promise<void> {
  await sql.begin(async (transaction) => {
    await transaction`
      insert into price_lists (version, digest, content) select 'test', sha256('test'), '{}'
      where not exists (select 1 from price_lists)`;
    const [account] = await transaction<[{ balance: string; entry_count: bigint }]>`
      select balance, entry_count from accounts where id = ${accountId} for no key update`;
    let balance = moneyFromDatabase(account.balance);
    let number = Number(account.entry_count);
    for (const { kind, amount, at, category = null, model, keyId } of entries) {
      balance += amount;
      number += 1;
      const generation = model === undefined ? null : newId();
      const time = typeof at === 'string' ? at : at.toISOString();
      if (generation !== null)
        await transaction`
          insert into usage_records (id, account_id, key_id, model, input_tokens, output_tokens, units, unit, cost,
            price_list_id, month, billed_at)
          select ${generation}, ${accountId}, ${keyId ?? ''}, ${model ?? ''}, 1, 1, 2, 'tokens',
                 abs(${formatMoney(amount)}::numeric), min(id), '2000-01-01', ${time}::text::timestamptz - interval '3 days'
          from price_lists`;
      await transaction`
        insert into ledger_entries (account_id, number, kind, amount, balance_after, generation_id, created_at)
        values (${accountId}, ${number}, ${kind}, ${formatMoney(amount)}::numeric, ${formatMoney(balance)}::numeric,
                ${generation}, ${time}::text::timestamptz)`;
      if (kind === 'credit' && category !== null)
        await transaction`
          insert into grants (account_id, number, category, amount)
          values (${accountId}, ${number}, ${category}, ${formatMoney(amount)}::numeric)`;
    }
    await transaction`
      update accounts set balance = ${formatMoney(balance)}::numeric, entry_count = ${number} where id = ${accountId}`;
  });
}
