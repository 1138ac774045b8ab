-- compatible-with: 0015
--
-- Says what each table, view, type and function is for, where psql and migrations/schema.sql show it.

comment on table accounts is
  'Customers. balance is the balance after the last entry, held the sum of the open holds. version changes with every '
  'change of the row, so that a batch of the ledger fails if the row has changed since the batch was decided.';

comment on table api_keys is 'What customers'' programs authenticate with. Only the hash of a key is stored.';

comment on table api_key_meters is
  'The part of a key that changes with every request, kept apart so that gateways'' copies of api_keys stay valid '
  'under load. version covers the limits of the key, too.';
comment on column api_key_meters.theoretical_arrival_at is 'The state of the request limiter (GCRA).';
comment on column api_key_meters.month is 'The month that month_spent is for.';

comment on table attempts is 'Calls to providers, one row for each attempt of a Generation. Partitioned into months by ID.';
comment on table attempts_default is
  'For IDs of nodes whose clock is wrong by more than the year for which there are partitions.';

comment on table credit_references is
  'The references of credits, so that a credit that is sent twice is booked once: a unique index of ledger_entries '
  'would not span months. Never archived.';

comment on table dead_letters is
  'Settlements that the database rejected for good, with everything needed to inspect and retry them.';
comment on column dead_letters.refusal_code is 'PostgreSQL''s code.';
comment on column dead_letters.refusal_about is 'The constraint, column or table that PostgreSQL named.';

comment on table familiar_networks is
  'Networks from which a person has signed in before: attempts by others from elsewhere do not make the person wait '
  'there.';
comment on column familiar_networks.name is 'A keyed hash of the person and the network.';

comment on table gateway_secret is 'The secret that the nodes share when the operator sets none. One row at most.';

comment on table generations is
  'Finished Generations. Partitioned into months by ID, that is, by time: a lookup by ID reads one partition, and old '
  'months are dropped as a whole. No foreign keys, as in every table that each request writes; tollgate ledger audit '
  'checks the references.';
comment on column generations.hold is 'What was held when it was settled; null if the hold had been released before.';
comment on table generations_default is
  'For IDs of nodes whose clock is wrong by more than the year for which there are partitions.';

comment on table idempotent_requests is
  'Requests with an Idempotency-Key, and their stored responses, encrypted. request_id and node_id say who has the '
  'claim.';
comment on column idempotent_requests.name_hash is 'The hash of the idempotency key.';
comment on column idempotent_requests.answer is 'The stored response, unless it was staged.';
comment on column idempotent_requests.staged is 'A long response, written before its charge.';
comment on column idempotent_requests.staged_when_short is 'The response to store instead if the balance does not suffice.';
comment on column idempotent_requests.chosen is 'Which of the two is the stored response, chosen with the charge.';

comment on table invitations is
  'Links with which the owners of an account let others join it. A row is deleted when its invitation is accepted or '
  'revoked, so each is used once.';
comment on column invitations.invited_by is 'The invitation is valid only while this user is an owner of the account.';
comment on column invitations.email is
  'The address that the link was mailed to, and the only one that can accept it. Null for a link that its owner hands '
  'over.';

comment on table ledger_archives is
  'Months whose entries and usage records are in a file. digest is the SHA-256 of that file.';
comment on table ledger_archive_accounts is
  'The first and the last entry of each account in an archive. The balance chain of the account continues after the '
  'last one.';
comment on table ledger_archive_usage is 'The part of usage_days that comes from the entries of an archive.';

comment on table ledger_audits is 'Audits of the ledger, whoever asked for them, with their progress and their findings.';
comment on column ledger_audits.base_audit_id is
  'The audit whose checkpoints this one continued from; null for a full audit.';
comment on column ledger_audits.outcome is 'Null while it runs. If its process died, the next audit sets it to failed.';

comment on table ledger_checkpoints is
  'The last entry of each account that was audited without a finding, with the balance and the usage at that point. '
  'The next audit continues from there.';

comment on table ledger_entries is
  'Every movement of a balance, numbered without gaps within its account, with the balance after it. Entries cannot be '
  'changed. Partitioned into months by time, which is read while the account is locked, so that within an account '
  'months are in the order of the numbers.';
comment on table ledger_entries_default is
  'For entries of a month without a partition. It has the same indexes as each month (index_ledger_partition).';

comment on table memberships is 'Which users belong to an account, and in which role.';

comment on table nodes is
  'Gateway processes. A node without a heartbeat for a while has died, and others close what it left open.';
comment on column nodes.report is 'What only this node knows, such as which providers it does not call now.';
comment on column nodes.newest_migration is 'Null, like version, for 0.2.0 and before.';

comment on table open_generations is
  'Generations from admission until they are settled; hold is the money reserved. The row is deleted in the transaction '
  'that writes the final one to generations, so settling twice finds nothing, and this table stays small.';
comment on column open_generations.attempts is
  'The attempts so far. They become rows of attempts when the Generation is settled.';

comment on table operator_actions is
  'Who did what to whom: an operator who was signed in, or a user of the system at the command line. Like the ledger it '
  'only grows.';
comment on column operator_actions.amount is 'What was credited.';
comment on column operator_actions.reference is
  'Identifies the request for a new account, so that sending it twice creates one account.';

comment on table price_lists is
  'Every distinct set of prices that was ever loaded. A Generation names the one it was priced with.';

comment on table schema_migrations is
  'The migrations that were applied. compatible_with is the newest migration of the oldest gateways that keep working.';

comment on table sessions is
  'People who are signed in. The cookie holds the token with a signature that only the gateway can make, so what is '
  'stored is not enough to sign in.';

comment on table sign_in_attempts is 'How often something was tried recently, by someone or for someone.';
comment on column sign_in_attempts.name is 'A keyed hash, which reveals neither network nor e-mail address.';
comment on column sign_in_attempts.theoretical_arrival_at is 'The state of the limiter (GCRA).';

comment on table usage_days is 'Usage totals by day (UTC), model and key, because usage records grow without end.';

comment on table usage_progress is
  'The last ledger entry of each account that is included in usage_days. A day could not mark that: a usage record has '
  'the time at which its request ended, but may be stored days later.';

comment on table usage_records is
  'Why each Generation cost what it did, under its ID: the usage, the tier, the price list and the time. Kept when the '
  'Generation is dropped. Partitioned into months by ID; the primary key spans them and allows a Generation one charge.';
comment on column usage_records.month is 'The month whose limit it counted towards, by the database''s clock.';
comment on column usage_records.refunded_at is 'The record of a refunded charge stays, but no longer counts as usage.';
comment on table usage_records_default is 'For IDs of nodes whose clock is wrong.';

comment on table user_credentials is 'How a user signs in: a password, as a hash.';
comment on table users is 'People who sign in. Operators run the gateway itself.';
comment on column users.last_signed_in_at is 'Kept here, because a session is gone when it ends.';

comment on table verifications is 'One-time links for choosing a new password, as hashes.';
comment on column verifications.made_by is
  'The operator who has seen the link; null when it was mailed or made at the command line.';

comment on table write_offs is
  'What the operator, not the customer, bears: usage that was not reported, not plausible, or lost.';

comment on view account_overviews is 'Accounts as the lists of the operator show them.';
comment on view user_overviews is 'Users as the lists of the operator show them.';
comment on view finished_generations is 'Generations as lists show them.';
comment on view unfinished_generations is 'Open Generations, with the columns of finished_generations.';
comment on view generation_details is 'Finished and open Generations with their attempts, for showing one of them.';

comment on type ledger_account_change is
  'For a row of accounts. The gateway declares this type, and the others that it passes to ledger_commit, with the same '
  'columns in the same order.';
comment on type ledger_account_row is 'For ledger_write, which 0.2.0 calls.';
comment on type ledger_answer_row is
  'staged is ''whole'' or ''short'' for a response that was written before, and null if answer has the response.';
comment on type ledger_attempt_row is 'For a row of attempts.';
comment on type ledger_claim_row is
  'An idempotent request, by its key and its hashed name, and the Generation that carries it out.';
comment on type ledger_closed_row is 'For ledger_write, which 0.2.0 calls.';
comment on type ledger_meter_change is 'For a row of api_key_meters.';
comment on type ledger_meter_row is 'For ledger_write, which 0.2.0 calls.';
comment on type ledger_opened_row is 'For a row of open_generations.';
comment on type ledger_settled_row is
  'Everything about a Generation that has ended. It does not need the open row, which a crash of the database may have '
  'lost.';
comment on type ledger_version is 'A row that a decision relies on without changing it.';
comment on type ledger_write_off_row is 'For a row of write_offs.';

comment on function add_up_usage is
  'Adds the next entries of an account to usage_days, and returns how many. A concurrent call waits, then continues '
  'after them.';
comment on function announce_account_change is
  'Nodes keep keys in memory for a few seconds; a change drops the copies everywhere at once.';
comment on function announce_key_change is 'Like announce_account_change, for one key.';
comment on function book_credit is
  'Books a credit under the lock of its account. Returns ''credited''; ''repeated'' if this reference was credited '
  'before with the same amount, ''different'' if with another one; ''missing'' if there is no such account.';
comment on function create_partitions is
  'Creates the monthly partitions from one day to another; those of the ledger at most three months ahead. Can be '
  'repeated; the caller lets one node do it at a time. Rows in a default partition move to the month that is created '
  'for them.';
comment on function credit_by_operator is
  'One round trip, because requests of the account wait while its row is locked. Returns what book_credit does, but '
  'also ''different'' for another memo, and ''denied'' if there is no such operator.';
comment on function credit_from_shell is 'One round trip, like credit_by_operator, for the command line.';
comment on function first_id_at is 'The smallest UUIDv7 that can be made at a time: a boundary between partitions.';
comment on function index_ledger_partition is
  'Creates the indexes of a month of the ledger. The table cannot have them itself: a unique index of it would have to '
  'include the time.';
comment on function keep_credit_reference is 'Writes credit_references.';
comment on function ledger_commit is
  'Writes a batch that was decided at at_ms on the given versions of rows, and returns the time. If anything differs '
  'from what the gateway assumed, this is a serialization failure and changes nothing. An array without rows is null; '
  'open_count is how many of the settled Generations are open. The sessions of the ledger do not wait for the disk; '
  'with is_durable this commit does.';
comment on function ledger_discard_ended is
  'Removes the record of a Generation that was closed too early or set aside. The same transaction settles it.';
comment on function ledger_find_ended is 'The earlier ledger_find_missing, which 0.2.0 calls.';
comment on function ledger_find_missing is
  'How Generations that should be settled but are not open have ended: interrupted, because their node seemed dead; '
  'set aside; settled, with what was charged and not refunded; or lost, when nothing is known of them. A claim that '
  'still stands is locked.';
comment on function ledger_lock is 'The earlier ledger_read, which 0.2.0 calls.';
comment on function ledger_read is
  'What a batch is decided on. With locks, nobody changes it before the end of the transaction: accounts before keys '
  'before Generations, each in the order of their IDs, so two nodes never wait for each other.';
comment on function ledger_refund is
  'Refunds a charge, once: its response was withheld, because nobody could know in time that the charge was committed.';
comment on function ledger_require_claims is
  'A request is run by the node that claimed it last. Once it was taken over, the former node must not admit it, so '
  'admission checks the claim and locks it.';
comment on function ledger_store_answers is
  'Stores responses with their charge: no charge loses its response, and no response is stored without its charge.';
comment on function ledger_write is 'The earlier ledger_commit, which 0.2.0 calls under the locks of ledger_lock.';
comment on function milliseconds_since is
  'At most the largest integer: a Generation may be open for 25 days, for instance after a backup is restored.';
comment on function note_sign_in is 'Writes users.last_signed_in_at.';
comment on function protect_chosen_response is
  '0.2.0 mistakes a request with a chosen response for one without a response. It must not run it a second time.';
comment on function random_version is 'A version that a row never had before.';
comment on function refuse_change is 'For tables that only grow.';
comment on function renew_meter_version is 'The version of a meter covers the limits of its key, too.';
comment on function renew_version is
  'Gives a row a new version when a change does not set one, as only the ledger does. Others wait for such a change, '
  'so it is soon rolled back when its client is gone.';
comment on function reopen_generations is 'The earlier ledger_discard_ended, which 0.2.0 calls.';
comment on function sign_in_wait is 'The seconds until every limit has room for one more attempt.';
comment on function take_sign_in_attempt is
  'Counts an attempt against all of these limits, or against none of them. Returns how many seconds to wait; 0 if it '
  'was counted. Each limit is {name, interval_ms, period_ms}: one attempt per interval, as many at once as the period '
  'has room for.';
comment on function usage_of_entries is
  'The usage in a range of an account''s entries, one row for each: a charge adds its record, a refund takes it back.';
