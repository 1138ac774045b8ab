-- compatible-with: 0015
--
-- Whom a request was for: the customer's own end user, tags and session, each a row, so that requests can be found by any of
-- them. Apart from the ledger's records, because these texts are personal data and leave with the Generation.

create table generation_attributions (
  generation_id uuid not null,
  account_id uuid not null,
  kind text not null check (kind in ('end_user', 'session', 'tag')),
  label text not null,
  primary key (generation_id, kind, label)
) partition by range (generation_id);
create table generation_attributions_default partition of generation_attributions default;
create index generation_attributions_by_account on generation_attributions (account_id, kind, label, generation_id);
create index generation_attributions_by_label on generation_attributions (kind, label, generation_id);
comment on table generation_attributions is
  'Whom a Generation was for, as its request said. Written with the hold, and partitioned and dropped like generations. '
  'Nothing in the ledger depends on it.';
comment on column generation_attributions.label is 'What the customer calls it: for a tag, name=value.';
comment on table generation_attributions_default is
  'For IDs of nodes whose clock is wrong by more than the year for which there are partitions.';

-- As before, for the new table, too.
create or replace function create_partitions(from_day date, to_day date) returns void language plpgsql as $$
declare
  month date := date_trunc('month', from_day::timestamp)::date;
  begins_at timestamptz;
  ends_at timestamptz;
  base record;
  partition text;
  has_strays boolean;
begin
  while month <= to_day loop
    begins_at := month::timestamp at time zone 'UTC';
    ends_at := (month + interval '1 month')::timestamp at time zone 'UTC';
    for base in
      select name, key, first_id_at(begins_at)::text as lower, first_id_at(ends_at)::text as upper
      from (values ('generations', 'id'), ('attempts', 'generation_id'),
        ('generation_attributions', 'generation_id'), ('usage_records', 'id')) as base (name, key)
      union all
      select 'ledger_entries', 'created_at', begins_at::text, ends_at::text
    loop
      partition := base.name || '_' || to_char(month, 'YYYY_MM');
      continue when to_regclass(format('%I', partition)) is not null or exists (
        select 1 from pg_inherits join pg_class on pg_class.oid = inhrelid
        where inhparent = base.name::regclass and relname ~ ('^' || base.name || '_to_[0-9]{4}_[0-9]{2}$')
          and to_date(right(relname, 7), 'YYYY_MM') >= month);
      execute format('select exists (select 1 from %I where %I >= %L and %I < %L)',
        base.name || '_default', base.key, base.lower, base.key, base.upper) into has_strays;
      -- The others are made a year ahead, for IDs from a node whose clock is wrong.
      continue when base.name in ('usage_records', 'ledger_entries') and month > current_date + 92 and not has_strays;
      execute format('create table %I (like %I including defaults including constraints)', partition, base.name);
      if base.name = 'ledger_entries' then
        perform index_ledger_partition(partition);
        if has_strays then alter table ledger_entries_default disable trigger ledger_entries_append_only; end if;
      end if;
      if has_strays then
        execute format(
          'with stray as (delete from %I where %I >= %L and %I < %L returning *) insert into %I select * from stray',
          base.name || '_default', base.key, base.lower, base.key, base.upper, partition);
      end if;
      if base.name = 'ledger_entries' and has_strays then
        alter table ledger_entries_default enable trigger ledger_entries_append_only;
      end if;
      execute format('alter table %I attach partition %I for values from (%L) to (%L)',
        base.name, partition, base.lower, base.upper);
    end loop;
    month := month + interval '1 month';
  end loop;
end $$;

create type ledger_attribution_row as (
  generation_id uuid,
  account_id uuid,
  kind text,
  label text
);
comment on type ledger_attribution_row is 'A row of generation_attributions.';

create function ledger_commit(at_ms double precision, this_month date, account_rows ledger_account_change[],
  meter_rows ledger_meter_change[], relied_accounts ledger_version[], relied_meters ledger_version[],
  claim_rows ledger_claim_row[], opened_rows ledger_opened_row[], settled_rows ledger_settled_row[],
  open_count integer, attempt_rows ledger_attempt_row[], write_off_rows ledger_write_off_row[],
  answer_rows ledger_answer_row[], is_durable boolean, metered_rows ledger_metered_row[],
  uncharged_rows ledger_uncharged_row[], attribution_rows ledger_attribution_row[])
returns double precision language plpgsql as $$
declare
  at double precision;
begin
  at := ledger_commit(at_ms, this_month, account_rows, meter_rows, relied_accounts, relied_meters, claim_rows,
    opened_rows, settled_rows, open_count, attempt_rows, write_off_rows, answer_rows, is_durable, metered_rows,
    uncharged_rows);
  insert into generation_attributions (generation_id, account_id, kind, label)
  select generation_id, account_id, kind, label from unnest(attribution_rows)
  -- A hold that was lost and made again, or a settlement whose hold was lost, may come with what is there already.
  on conflict (generation_id, kind, label) do nothing;
  return at;
end $$;
comment on function ledger_commit(double precision, date, ledger_account_change[], ledger_meter_change[],
  ledger_version[], ledger_version[], ledger_claim_row[], ledger_opened_row[], ledger_settled_row[], integer,
  ledger_attempt_row[], ledger_write_off_row[], ledger_answer_row[], boolean, ledger_metered_row[],
  ledger_uncharged_row[], ledger_attribution_row[]) is
  'For a batch with requests that say whom they are for. The others need not pay for that.';
