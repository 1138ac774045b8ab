-- What one key has stored for retries is counted, and long answers are read piece by piece.

-- Encrypted bytes do not compress, and only what is stored uncompressed can be read in part without reading all of it.
alter table idempotent_requests
  alter column answer set storage external,
  alter column staged set storage external,
  alter column staged_when_short set storage external;

alter table idempotent_requests add column stored_bytes integer not null generated always as (
  coalesce(octet_length(answer), 0) + coalesce(octet_length(staged), 0) + coalesce(octet_length(staged_when_short), 0)
) stored;

-- What a key has is counted from the index alone.
create index idempotent_requests_by_key on idempotent_requests (key_id) include (expires_at, stored_bytes);
