/** Charges of any month, written by the ledger's own function as if the database's clock had shown that month. */
import type { SQL } from 'bun';
import { createAccount } from '../../src/accounts/account-store.ts';
import { createKey } from '../../src/keys/key-store.ts';
import { newId } from '../../src/lib/ids.ts';
import { storePriceList } from '../../src/pricing/price-list-store.ts';

export type SpendingOwner = Readonly<{ accountId: string; keyId: string; key: string; priceListId: number }>;

export async function spendingOwner(sql: SQL): Promise<SpendingOwner> {
  const priceListId = await storePriceList(sql, { version: '1', digest: '00'.repeat(32), content: {} });
  const { id: accountId } = await createAccount(sql, 'Spending', 1_000n * 10n ** 12n);
  const created = await createKey(sql, {
    accountId,
    name: 'Spending',
    requestsPerMinute: 1_000_000,
    monthlyLimit: null,
    allowedModels: null,
    expiresAt: null,
  });
  return { accountId, keyId: created?.id ?? '', key: created?.key ?? '', priceListId };
}

type When = Readonly<{
  /** The month in which the request began. */
  monthsAgo: number;
  /** The month in which it was charged; the current one unless given. */
  bookedMonthsAgo?: number;
  id?: string;
}>;

/** Settles a Generation that costs 0.25; returns its ID. */
export async function settleAt(sql: SQL, owner: SpendingOwner, when: When): Promise<string> {
  const at = middleOfMonth(when.monthsAgo);
  const id = when.id ?? idAt(at);
  await sql.begin(async (transaction) => {
    const [account] = await transaction<[{ number: bigint; balance: string; month: string; spent: string }]>`
      select entry_count + 1 as number, balance - 0.25 as balance, month_spent + 0.25 as spent,
             (date_trunc('month', clock_timestamp() at time zone 'UTC')
               - make_interval(months => ${when.bookedMonthsAgo ?? 0}::int))::date::text as month
      from accounts, api_key_meters where id = ${owner.accountId} and key_id = ${owner.keyId}
      for no key update of accounts`;
    await transaction`
      insert into open_generations (id, account_id, key_id, node_id, workload, model, provider, streaming, hold,
        price_list_id, attempts, created_at)
      values (${id}, ${owner.accountId}, ${owner.keyId}, ${newId()}, 'chat', 'm', 'P', false, 0, ${owner.priceListId},
        '[]', ${at})`;
    const accountRow = `{"(${owner.accountId},${account.balance},0,${account.number})"}`;
    const meterRow = `{"(${owner.keyId},0,${account.spent},0,0)"}`;
    const closedRow = `{"(${id},P,completed,0,1,2,3,tokens,,0.1,0.15,0.25,1,,,${at.getTime()},${account.number},${account.balance},f)"}`;
    await transaction`
      select ledger_write(${account.month}::text::date, ${accountRow}::text::ledger_account_row[],
        ${meterRow}::text::ledger_meter_row[], null, ${closedRow}::text::ledger_closed_row[], null, null)`;
    // A key's spending is that of one month, so the rows of other months would not match it.
    await transaction`
      update api_key_meters set month_spent = coalesce((
        select sum(cost) from usage_records
        where key_id = ${owner.keyId} and month = api_key_meters.month and refunded_at is null), 0)
      where key_id = ${owner.keyId}`;
  });
  return id;
}

/** The middle of the month this many months ago, which is in that month in every time zone. */
export function middleOfMonth(monthsAgo: number): Date {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - monthsAgo, 15));
}

export function idAt(at: Date): string {
  const time = at.getTime().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}${newId().slice(13)}`;
}
