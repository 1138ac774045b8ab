/** The invariants of what is refunded, and of what people move by hand. */
import { type AuditScope, type Invariant, maybeArchived } from './invariant.ts';
import { withBase } from './new-entries.ts';

/**
 * What was refunded of each Generation: in parts by hand, which its usage record sums up, and once by the gateway, which takes
 * back what is left. Entries before an archive may be missing.
 */
const refunds = (scope: AuditScope) => `
  select used.cost, used.refunded, used.refunded_at, used.id is null as is_unknown, by_hand, by_gateway, whole,
         charge.amount as charged, ${maybeArchived('one.generation_id', scope)} as is_old
  from (select distinct generation_id from (
    select generation_id from entries where kind = 'refund'
    union all
    select id from usage_records where id >= '${scope.sinceId}' and (refunded > 0 or refunded_at is not null)) as either) as one
  left join usage_records as used on used.id = one.generation_id
  left join ledger_entries as charge on charge.generation_id = one.generation_id and charge.kind = 'charge'
  cross join lateral (
    select coalesce(sum(amount) filter (where reference is not null), 0) as by_hand,
           coalesce(sum(amount) filter (where reference is null), 0) as whole,
           count(*) filter (where reference is null) as by_gateway
    from ledger_entries as refund
    where refund.generation_id = one.generation_id and refund.kind = 'refund'
      and refund.account_id = coalesce(charge.account_id, refund.account_id)
      and refund.number > coalesce(charge.number, 0)
  ) as given`;

const isRight = `
  case when is_unknown or charged is null then is_old
    else by_hand = refunded and by_gateway = (refunded_at is not null)::int and by_hand + whole <= -charged
      and (by_gateway = 0 or by_hand + whole = -charged) end
  and (is_unknown or by_hand <= refunded and by_gateway <= 1)`;

const concerns = 'num_nonnulls(concerns_entry, concerns_generation_id)';

export const movementInvariants: readonly Invariant[] = [
  {
    invariant:
      'refunds of a Generation are at most its charge, and those by hand are what its usage record says',
    query: (scope) => `${withBase(scope)}
      select count(*) as checked, count(*) filter (where not (${isRight})) as violations from (${refunds(scope)}) as refunds`,
  },
  {
    invariant: 'each reference is that of one entry, with its kind and amount',
    query: (scope) => `${withBase(scope)}
      select count(*) as checked, count(*) filter (where (entry.kind, entry.amount)
               is distinct from (known.kind, known.amount) or known.number <> entry.number) as violations
      from (select * from entries where reference is not null) as entry
      left join credit_references as known on known.account_id = entry.account_id and known.reference = entry.reference`,
  },
  {
    invariant:
      'what was moved by hand has a reason and a reference, and only a correction is about something else',
    query: (scope) => `${withBase(scope)}
      select count(*) as checked, count(*) filter (where not (case
               when kind in ('expiry', 'void') then concerns_entry is not null
               when actor is null then ${concerns} = 0 or kind = 'correction' and exists (
                 select 1 from payment_reversals where id = split_part(reference_text, '/', 1))
               when kind = 'correction' then num_nulls(memo, reference) = 0 and ${concerns} <= 1
               when kind = 'refund' then num_nulls(memo, reference) = 0 and ${concerns} = 0
               else kind = 'credit' and ${concerns} = 0 end)) as violations
      from entries where actor is not null or ${concerns} > 0`,
  },
  {
    invariant:
      'each correction is about an entry before it, or about a Generation of its account, while that is retained',
    query: (scope) => `${withBase(scope)}
      select count(*) as checked, count(*) filter (where concerns_entry >= number
               or generations.account_id <> entry.account_id) as violations
      from (select * from entries where kind in ('correction', 'expiry', 'void')) as entry
      left join generations on generations.id = entry.concerns_generation_id`,
  },
];
