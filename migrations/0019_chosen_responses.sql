-- compatible-with: 0015
--
-- A long response is staged before its request is settled. The ledger used to copy it into `answer`, and every other customer
-- waited for that. Now it only notes which of the staged responses it has chosen.

alter table idempotent_requests
  add column chosen text check (chosen in ('whole', 'short'));

create or replace function ledger_store_answers(answer_rows ledger_answer_row[]) returns void language sql as $$
  update idempotent_requests as request
  set chosen = row.staged,
      answer = case when row.staged is null then decode(row.answer, 'base64') end,
      staged = case when row.staged = 'whole' then request.staged end,
      staged_when_short = case when row.staged = 'short' then request.staged_when_short end
  from unnest(answer_rows) as row
  where request.key_id = row.key_id and request.name_hash = decode(row.name, 'hex') and request.request_id = row.request_id
$$;

-- Gateways of an earlier version take a request with a chosen response for one that was never answered. They must not run it
-- a second time.
create function protect_chosen_response() returns trigger language plpgsql as $$
begin
  if old.expires_at > now() then
    return null;
  end if;
  new.chosen := null;
  return new;
end $$;

create trigger idempotent_requests_protect_chosen before update on idempotent_requests
  for each row when (old.chosen is not null and new.request_id <> old.request_id)
  execute function protect_chosen_response();
