/** The invariants of grants: what was drawn from them follows from the entries of their account, to the last digit. */
import type { AuditScope, Invariant } from './invariant.ts';
import { withBase } from './new-entries.ts';

/** Accounts whose money is told apart. An audit that is not full skips those without a new entry. */
const accounts = ({ isFull }: AuditScope) => `
  select progress.*, accounts.balance
  from accounts join grant_progress as progress on progress.account_id = accounts.id
  ${isFull ? '' : 'join base on base.account_id = accounts.id and base.last_number > base.number'}`;

/** Entries are drawn later than they are made, so those that the last audit found undrawn are new as well. */
const drawnSince = ({ isFull }: AuditScope) =>
  isFull ? 'first_number' : 'greatest(first_number, coalesce(checkpoint.drawn_number, 0))';

/** It reads every draw that was ever made. */
const fullOnly = (query: (scope: AuditScope) => string) => (scope: AuditScope) =>
  scope.isFull ? query(scope) : 'select 0::bigint as checked, 0::bigint as violations';

export const grantInvariants: readonly Invariant[] = [
  {
    invariant:
      'what is left of the grants of each account is its balance, as of the last entry that was drawn',
    query: (scope) => `${withBase(scope)}
      select count(*) as checked, count(*) filter (where balance <> coalesce((
               select sum(remaining) from grants where grants.account_id = one.account_id), 0) + coalesce((
               select sum(amount) from ledger_entries
               where ledger_entries.account_id = one.account_id and number > one.entry_number), 0)) as violations
      from (${accounts(scope)}) as one`,
  },
  {
    invariant: 'what is left of each grant is its amount, less what was drawn from it',
    query: fullOnly(
      () => `
      select count(*) as checked, count(*) filter (where remaining
               <> case when number <= entry_number then amount else 0 end - coalesce(total, 0)) as violations
      from grant_progress as progress join grants on grants.account_id = progress.account_id left join (
        select account_id, grant_number, sum(amount) as total from grant_draws group by 1, 2
      ) as drawn on drawn.account_id = grants.account_id and grant_number = number`,
    ),
  },
  {
    invariant: 'each entry since the first grant was drawn from grants, given back to them, or is one itself',
    query: (scope) => `
      select count(*) as checked, count(*) filter (where entry.amount <> coalesce((
               select amount from grants where grants.account_id = entry.account_id and grants.number = entry.number), 0)
               - coalesce((select sum(draws.amount) from grant_draws as draws
                 where draws.account_id = entry.account_id and draws.entry_number = entry.number), 0)) as violations
      from grant_progress as progress
      ${scope.isFull ? '' : 'left join ledger_checkpoints as checkpoint on checkpoint.account_id = progress.account_id'}
      cross join lateral (
        select * from ledger_entries where ledger_entries.account_id = progress.account_id
          and number > ${drawnSince(scope)} and number <= progress.entry_number offset 0
      ) as entry`,
  },
  {
    invariant: 'what was given back of an entry is no more than it had taken, and went to the same grants',
    query: fullOnly(
      () => `
      select count(*) as checked, count(*) filter (where taken < 0) as violations
      from (select distinct account_id, origin, grant_number from grant_draws where origin <> entry_number) as returned
      cross join lateral (
        select sum(amount) as taken from grant_draws as draws
        where draws.account_id = returned.account_id and draws.grant_number = returned.grant_number
          and (draws.entry_number = returned.origin
            or draws.origin = returned.origin and draws.origin <> draws.entry_number)
      ) as net`,
    ),
  },
  {
    invariant: 'what has expired or was voided left with an entry of its own',
    query: (scope) => `${withBase(scope)}
      select count(*) as checked, count(*) filter (where grants.number is null
               or entries.number <= progress.entry_number and draws.amount is distinct from -entries.amount) as violations
      from (select * from entries where kind in ('expiry', 'void')) as entries
      left join grant_progress as progress on progress.account_id = entries.account_id
      left join grants on grants.account_id = entries.account_id and grants.number = concerns_entry
        and (expires_at is not null or voided_at is not null)
      left join grant_draws as draws on draws.account_id = entries.account_id and draws.entry_number = entries.number
        and draws.grant_number = concerns_entry`,
  },
  {
    invariant: 'whatever ends of the grants of an account is due by then',
    query: () => `
      select count(*) as checked, count(*) filter (where grants_due_at is null
               or grants_due_at > greatest(coalesce(grants.ended_at, expires_at), clock_timestamp())) as violations
      from grants join accounts on accounts.id = account_id
      where ended_at is null and expires_at is not null or ended_at is not null and remaining > 0`,
  },
];
