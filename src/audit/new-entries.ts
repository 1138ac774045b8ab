/** The entries that an audit covers, for queries to begin with. */
import type { AuditScope } from './invariant.ts';

/** Where the check of each account starts: the entry before its first one to check, and the balance after that entry. */
export function withBase({ isFull }: AuditScope): string {
  const checkpoint = isFull
    ? ''
    : 'left join ledger_checkpoints on ledger_checkpoints.account_id = accounts.id';
  const isCheckpoint = isFull
    ? 'false'
    : 'ledger_checkpoints.entry_number >= coalesce(archive.last_number, 0)';
  const choose = (ofCheckpoint: string, ofArchive: string) =>
    isFull ? ofArchive : `case when ${isCheckpoint} then ${ofCheckpoint} else ${ofArchive} end`;
  return `
    with base as materialized (
      select accounts.id as account_id, accounts.entry_count as last_number,
             ${choose('ledger_checkpoints.entry_number', 'coalesce(archive.last_number, 0)')} as number,
             ${choose('ledger_checkpoints.balance', 'coalesce(archive.balance_after, 0)')} as balance
      from accounts ${checkpoint}
      left join lateral (
        select last_number, balance_after from ledger_archive_accounts
        where account_id = accounts.id order by last_number desc limit 1
      ) as archive on true
    ), entries as ${isFull ? allEntries : newEntries}`;
}

const allEntries = 'not materialized (select * from ledger_entries)';

/** Accounts without a new entry are skipped, and `offset 0` keeps the planner from joining the whole ledger. */
const newEntries = `materialized (
      select entry.* from base cross join lateral (
        select * from ledger_entries
        where ledger_entries.account_id = base.account_id and ledger_entries.number > base.number offset 0
      ) as entry where base.last_number > base.number)`;
