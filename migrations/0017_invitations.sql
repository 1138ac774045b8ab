-- compatible-with: 0015
--
-- Invitations with which the owners of an account let others join it. A row is deleted when it is accepted or revoked, so
-- each can be used once.

create table invitations (
  id          uuid primary key,
  account_id  uuid not null references accounts on delete cascade,
  role        text not null check (role in ('owner', 'member')),
  -- It is valid only while this user is an owner of the account.
  invited_by  uuid not null references users on delete cascade,
  -- The address that the link was mailed to, and the only one that can accept it. Null for a link that its owner hands over.
  email       text,
  -- The link itself is not stored.
  token_hash  bytea not null unique check (length(token_hash) = 32),
  expires_at  timestamptz not null,
  created_at  timestamptz not null default now()
);

create index invitations_by_account on invitations (account_id);
create index invitations_by_maker on invitations (invited_by);
create index invitations_by_expiry on invitations (expires_at);
