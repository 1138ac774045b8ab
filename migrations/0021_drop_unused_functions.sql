-- compatible-with: 0015
--
-- What no gateway calls any more that can go on with this schema: the ledger of before 0010, and the lists and reports of
-- before 0011. ledger_lock, ledger_write, ledger_find_ended and reopen_generations stay for 0.2.0.

drop function
  lock_for_ledger, write_to_ledger, ended_generations, refund_charge, require_claims, keep_answers,
  list_generations, list_account_generations, list_account_generations_between, find_generation,
  recent_generations, recent_usage, usage_of_days, charges_of;
