-- What ties the answers that are kept for retries (idempotent_requests) to the money: both move in one transaction.

-- A request is carried out by whoever claimed it last. One that was taken over while its node seemed dead must not be
-- admitted any more, so admission asks for the claim and locks it.
create function require_claims(claim_rows json) returns void language plpgsql as $$
declare
  claimed integer;
begin
  select count(*) into claimed from (
    select 1 from idempotent_requests as request
    join json_to_recordset(claim_rows) as row (key_id uuid, name text, request_id uuid)
      on request.key_id = row.key_id and request.name_hash = decode(row.name, 'hex') and request.request_id = row.request_id
    order by request.key_id, request.name_hash
    for update of request
  ) as held;
  if claimed < json_array_length(claim_rows) then
    raise exception 'a request was taken over' using errcode = 'integrity_constraint_violation';
  end if;
end $$;

-- A long answer is written before its charge, where nobody waits for it, and only named by the charge.
alter table idempotent_requests add column staged bytea, add column staged_when_short bytea;

-- Kept with the charge: there is never a charge whose answer is lost, nor an answer that was not charged.
create function keep_answers(kept_rows json) returns void language sql as $$
  update idempotent_requests as request
  set answer = case row.staged when 'whole' then request.staged when 'short' then request.staged_when_short
                               else decode(row.answer, 'base64') end,
      staged = null, staged_when_short = null
  from json_to_recordset(kept_rows) as row (key_id uuid, name text, request_id uuid, answer text, staged text)
  where request.key_id = row.key_id and request.name_hash = decode(row.name, 'hex') and request.request_id = row.request_id
$$;
