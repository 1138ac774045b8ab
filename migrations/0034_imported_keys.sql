-- compatible-with: 0015
--
-- Keys that customers brought from another gateway. They have a form of their own, so a node looks such keys up only if this
-- table has rows.

create table imported_keys (
  key_id uuid primary key references api_keys,
  source text not null check (source in ('litellm', 'new-api')),
  created_at timestamptz not null default now()
);
comment on table imported_keys is
  'Keys that `tollgate import` made known, and where they came from. A key here need not have the form of our own.';
