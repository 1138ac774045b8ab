-- Made by npm run schema from all migrations, to be read: nothing applies it.
--
-- First the tables, each with its indexes and triggers, then views, types and functions, all by name. The partitions of the
-- months are left out: create_partitions makes them.

-- Customers. balance is the balance after the last entry, held the sum of the open holds. version changes with every
-- change of the row, so that a batch of the ledger fails if the row has changed since the batch was decided.
CREATE TABLE accounts (
  id uuid NOT NULL,
  name text NOT NULL,
  suspended_at timestamp with time zone,
  balance numeric(38,12) NOT NULL DEFAULT 0,
  held numeric(38,12) NOT NULL DEFAULT 0,
  entry_count bigint NOT NULL DEFAULT 0,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  version bigint NOT NULL DEFAULT 0,
  CONSTRAINT accounts_pkey PRIMARY KEY (id),
  CONSTRAINT accounts_hold_covered CHECK (held >= 0::numeric AND balance >= held),
  CONSTRAINT accounts_name_check CHECK (length(name) >= 1 AND length(name) <= 200)
) WITH (fillfactor=70);
CREATE TRIGGER accounts_announce AFTER UPDATE OF suspended_at ON accounts
  FOR EACH ROW WHEN (old.suspended_at IS DISTINCT FROM new.suspended_at)
  EXECUTE FUNCTION announce_account_change();
CREATE TRIGGER accounts_renew_version BEFORE UPDATE ON accounts
  FOR EACH ROW WHEN (new.version = old.version)
  EXECUTE FUNCTION renew_version();

-- The part of a key that changes with every request, kept apart so that gateways' copies of api_keys stay valid under
-- load. version covers the limits of the key, too.
CREATE TABLE api_key_meters (
  key_id uuid NOT NULL,
  -- The state of the request limiter (GCRA).
  theoretical_arrival_at timestamp with time zone NOT NULL DEFAULT '1970-01-01 00:00:00+00'::timestamp with time zone,
  held numeric(38,12) NOT NULL DEFAULT 0,
  -- The month that month_spent is for.
  month date NOT NULL DEFAULT '1970-01-01'::date,
  month_spent numeric(38,12) NOT NULL DEFAULT 0,
  last_used_at timestamp with time zone,
  open_count integer NOT NULL DEFAULT 0,
  version bigint NOT NULL DEFAULT 0,
  CONSTRAINT api_key_meters_pkey PRIMARY KEY (key_id),
  CONSTRAINT api_key_meters_held_check CHECK (held >= 0::numeric),
  CONSTRAINT api_key_meters_key_id_fkey FOREIGN KEY (key_id) REFERENCES api_keys(id),
  CONSTRAINT api_key_meters_month_spent_check CHECK (month_spent >= 0::numeric),
  CONSTRAINT api_key_meters_open_count_check CHECK (open_count >= 0)
) WITH (fillfactor=50);
CREATE TRIGGER api_key_meters_renew_version BEFORE UPDATE ON api_key_meters
  FOR EACH ROW WHEN (new.version = old.version)
  EXECUTE FUNCTION renew_version();

-- What customers' programs authenticate with. Only the hash of a key is stored.
CREATE TABLE api_keys (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  name text NOT NULL,
  hash bytea NOT NULL,
  hint text NOT NULL,
  requests_per_minute integer NOT NULL,
  monthly_limit numeric(38,12),
  allowed_models text[],
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  max_concurrent integer NOT NULL DEFAULT 200,
  CONSTRAINT api_keys_pkey PRIMARY KEY (id),
  CONSTRAINT api_keys_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  CONSTRAINT api_keys_hash_check CHECK (length(hash) = 32),
  CONSTRAINT api_keys_hash_key UNIQUE (hash),
  CONSTRAINT api_keys_max_concurrent_check CHECK (max_concurrent >= 1 AND max_concurrent <= 100000),
  CONSTRAINT api_keys_monthly_limit_check CHECK (monthly_limit >= 0::numeric),
  CONSTRAINT api_keys_name_check CHECK (length(name) >= 1 AND length(name) <= 200),
  CONSTRAINT api_keys_requests_per_minute_check CHECK (requests_per_minute >= 1 AND requests_per_minute <= 1000000)
);
CREATE INDEX api_keys_by_account ON api_keys USING btree (account_id, id);
CREATE TRIGGER api_keys_announce AFTER INSERT OR UPDATE ON api_keys
  FOR EACH ROW
  EXECUTE FUNCTION announce_key_change();
CREATE TRIGGER api_keys_renew_meter_version AFTER UPDATE ON api_keys
  FOR EACH ROW WHEN (old.monthly_limit IS DISTINCT FROM new.monthly_limit OR old.requests_per_minute IS DISTINCT FROM
    new.requests_per_minute OR old.max_concurrent IS DISTINCT FROM new.max_concurrent OR old.revoked_at IS DISTINCT FROM
    new.revoked_at OR old.expires_at IS DISTINCT FROM new.expires_at)
  EXECUTE FUNCTION renew_meter_version();

-- Calls to providers, one row for each attempt of a Generation. Partitioned into months by ID.
CREATE TABLE attempts (
  generation_id uuid NOT NULL,
  index smallint NOT NULL,
  provider text NOT NULL,
  status text NOT NULL,
  started_at timestamp with time zone NOT NULL,
  completed_at timestamp with time zone NOT NULL,
  upstream_status smallint,
  error_code text,
  CONSTRAINT attempts_pkey PRIMARY KEY (generation_id, index),
  CONSTRAINT attempts_index_check CHECK (index > 0),
  CONSTRAINT attempts_status_check CHECK (status = ANY (ARRAY['succeeded'::text, 'failed'::text, 'cancelled'::text]))
) PARTITION BY RANGE (generation_id);
CREATE INDEX attempts_failed ON attempts USING btree (generation_id, index) WHERE status = 'failed'::text;

-- For IDs of nodes whose clock is wrong by more than the year for which there are partitions.
CREATE TABLE attempts_default PARTITION OF attempts DEFAULT;

-- The references of credits, so that a credit that is sent twice is booked once: a unique index of ledger_entries would
-- not span months. Never archived.
CREATE TABLE credit_references (
  account_id uuid NOT NULL,
  reference uuid NOT NULL,
  amount numeric(38,12) NOT NULL,
  memo text,
  CONSTRAINT credit_references_pkey PRIMARY KEY (account_id, reference)
);

-- Settlements that the database rejected for good, with everything needed to inspect and retry them.
CREATE TABLE dead_letters (
  generation_id uuid NOT NULL,
  account_id uuid NOT NULL,
  key_id uuid NOT NULL,
  settlement jsonb NOT NULL,
  -- PostgreSQL's code.
  refusal_code text NOT NULL,
  -- The constraint, column or table that PostgreSQL named.
  refusal_about text NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT dead_letters_pkey PRIMARY KEY (generation_id)
);

-- Networks from which a person has signed in before: attempts by others from elsewhere do not make the person wait
-- there.
CREATE TABLE familiar_networks (
  -- A keyed hash of the person and the network.
  name bytea NOT NULL,
  seen_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT familiar_networks_pkey PRIMARY KEY (name),
  CONSTRAINT familiar_networks_name_check CHECK (length(name) = 32)
);
CREATE INDEX familiar_networks_by_age ON familiar_networks USING btree (seen_at);

-- The secret that the nodes share when the operator sets none. One row at most.
CREATE TABLE gateway_secret (
  only_one boolean NOT NULL DEFAULT true,
  secret text NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT gateway_secret_pkey PRIMARY KEY (only_one),
  CONSTRAINT gateway_secret_only_one_check CHECK (only_one)
);

-- Finished Generations. Partitioned into months by ID, that is, by time: a lookup by ID reads one partition, and old
-- months are dropped as a whole. No foreign keys, as in every table that each request writes; tollgate ledger audit
-- checks the references.
CREATE TABLE generations (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  key_id uuid NOT NULL,
  workload text NOT NULL,
  model text NOT NULL,
  provider text NOT NULL,
  status text NOT NULL,
  streaming boolean NOT NULL,
  fallback boolean NOT NULL,
  attempt_count smallint NOT NULL,
  price_list_id integer,
  input_tokens bigint,
  output_tokens bigint,
  units bigint,
  unit text,
  tier text,
  cost_input numeric(38,12),
  cost_output numeric(38,12),
  cost_total numeric(38,12),
  latency_ms integer NOT NULL,
  time_to_first_token_ms integer,
  error_code text,
  created_at timestamp with time zone NOT NULL,
  completed_at timestamp with time zone NOT NULL,
  -- What was held when it was settled; null if the hold had been released before.
  hold numeric(38,12),
  CONSTRAINT generations_pkey PRIMARY KEY (id),
  CONSTRAINT generations_completed_is_billed CHECK (status <> 'completed'::text OR cost_total IS NOT NULL AND error_code
    IS NULL),
  CONSTRAINT generations_cost_input_check CHECK (cost_input >= 0::numeric),
  CONSTRAINT generations_cost_needs_usage CHECK (cost_total IS NULL OR units IS NOT NULL),
  CONSTRAINT generations_cost_output_check CHECK (cost_output >= 0::numeric),
  CONSTRAINT generations_cost_sums CHECK (cost_total = (cost_input + cost_output)),
  CONSTRAINT generations_cost_total_check CHECK (cost_total >= 0::numeric),
  CONSTRAINT generations_cost_whole CHECK (num_nulls(cost_input, cost_output, cost_total) = ANY (ARRAY[0, 3])),
  CONSTRAINT generations_failed_says_why CHECK (status <> 'failed'::text OR error_code IS NOT NULL),
  CONSTRAINT generations_hold_check CHECK (hold >= 0::numeric),
  CONSTRAINT generations_input_tokens_check CHECK (input_tokens >= 0),
  CONSTRAINT generations_output_tokens_check CHECK (output_tokens >= 0),
  CONSTRAINT generations_status_check CHECK (status = ANY (ARRAY['completed'::text, 'failed'::text,
    'cancelled'::text])),
  CONSTRAINT generations_unit_check CHECK (unit = ANY (ARRAY['tokens'::text, 'images'::text])),
  CONSTRAINT generations_units_check CHECK (units >= 0),
  CONSTRAINT generations_usage_whole CHECK (num_nulls(input_tokens, output_tokens, units, unit) = ANY (ARRAY[0, 4]))
) PARTITION BY RANGE (id);
CREATE INDEX generations_by_account_and_status ON generations USING btree (account_id, status, id);
CREATE INDEX generations_by_account_status_and_model ON generations USING btree (account_id, status, model, id);
CREATE INDEX generations_by_key_and_status ON generations USING btree (key_id, status, id);
CREATE INDEX generations_by_key_status_and_model ON generations USING btree (key_id, status, model, id);

-- For IDs of nodes whose clock is wrong by more than the year for which there are partitions.
CREATE TABLE generations_default PARTITION OF generations DEFAULT;

-- Requests with an Idempotency-Key, and their stored responses, encrypted. request_id and node_id say who has the
-- claim.
CREATE TABLE idempotent_requests (
  key_id uuid NOT NULL,
  -- The hash of the idempotency key.
  name_hash bytea NOT NULL,
  body_hash bytea NOT NULL,
  request_id uuid NOT NULL,
  node_id uuid NOT NULL,
  -- The stored response, unless it was staged.
  answer bytea STORAGE EXTERNAL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  expires_at timestamp with time zone NOT NULL,
  -- A long response, written before its charge.
  staged bytea STORAGE EXTERNAL,
  -- The response to store instead if the balance does not suffice.
  staged_when_short bytea STORAGE EXTERNAL,
  stored_bytes integer NOT NULL GENERATED ALWAYS AS (((COALESCE(octet_length(answer),
    0) + COALESCE(octet_length(staged), 0)) + COALESCE(octet_length(staged_when_short), 0))) STORED,
  -- Which of the two is the stored response, chosen with the charge.
  chosen text,
  CONSTRAINT idempotent_requests_pkey PRIMARY KEY (key_id, name_hash),
  CONSTRAINT idempotent_requests_body_hash_check CHECK (length(body_hash) = 32),
  CONSTRAINT idempotent_requests_chosen_check CHECK (chosen = ANY (ARRAY['whole'::text, 'short'::text])),
  CONSTRAINT idempotent_requests_name_hash_check CHECK (length(name_hash) = 32)
);
CREATE INDEX idempotent_requests_by_expiry ON idempotent_requests USING btree (expires_at);
CREATE INDEX idempotent_requests_by_key ON idempotent_requests USING btree (key_id) INCLUDE (expires_at, stored_bytes);
CREATE TRIGGER idempotent_requests_protect_chosen BEFORE UPDATE ON idempotent_requests
  FOR EACH ROW WHEN (old.chosen IS NOT NULL AND new.request_id <> old.request_id)
  EXECUTE FUNCTION protect_chosen_response();

-- Links with which the owners of an account let others join it. A row is deleted when its invitation is accepted or
-- revoked, so each is used once.
CREATE TABLE invitations (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  role text NOT NULL,
  -- The invitation is valid only while this user is an owner of the account.
  invited_by uuid NOT NULL,
  -- The address that the link was mailed to, and the only one that can accept it. Null for a link that its owner hands
  -- over.
  email text,
  token_hash bytea NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT invitations_pkey PRIMARY KEY (id),
  CONSTRAINT invitations_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id) ON DELETE CASCADE,
  CONSTRAINT invitations_invited_by_fkey FOREIGN KEY (invited_by) REFERENCES users(id) ON DELETE CASCADE,
  CONSTRAINT invitations_role_check CHECK (role = ANY (ARRAY['owner'::text, 'member'::text])),
  CONSTRAINT invitations_token_hash_check CHECK (length(token_hash) = 32),
  CONSTRAINT invitations_token_hash_key UNIQUE (token_hash)
);
CREATE INDEX invitations_by_account ON invitations USING btree (account_id);
CREATE INDEX invitations_by_expiry ON invitations USING btree (expires_at);
CREATE INDEX invitations_by_maker ON invitations USING btree (invited_by);

-- The first and the last entry of each account in an archive. The balance chain of the account continues after the last
-- one.
CREATE TABLE ledger_archive_accounts (
  archive_id uuid NOT NULL,
  account_id uuid NOT NULL,
  first_number bigint NOT NULL,
  last_number bigint NOT NULL,
  balance_before numeric(38,12) NOT NULL,
  balance_after numeric(38,12) NOT NULL,
  CONSTRAINT ledger_archive_accounts_pkey PRIMARY KEY (account_id, last_number),
  CONSTRAINT ledger_archive_accounts_archive_id_fkey FOREIGN KEY (archive_id) REFERENCES ledger_archives(id)
);

-- The part of usage_days that comes from the entries of an archive.
CREATE TABLE ledger_archive_usage (
  archive_id uuid NOT NULL,
  account_id uuid NOT NULL,
  day date NOT NULL,
  model text NOT NULL,
  key_id uuid NOT NULL,
  requests bigint NOT NULL,
  input_tokens numeric(38,0) NOT NULL,
  output_tokens numeric(38,0) NOT NULL,
  images numeric(38,0) NOT NULL,
  cost numeric(38,12) NOT NULL,
  CONSTRAINT ledger_archive_usage_pkey PRIMARY KEY (archive_id, account_id, day, model, key_id),
  CONSTRAINT ledger_archive_usage_archive_id_fkey FOREIGN KEY (archive_id) REFERENCES ledger_archives(id)
);

-- Months whose entries and usage records are in a file. digest is the SHA-256 of that file.
CREATE TABLE ledger_archives (
  id uuid NOT NULL,
  begins_on date,
  ends_on date NOT NULL,
  file_name text NOT NULL,
  digest bytea NOT NULL,
  size_bytes bigint NOT NULL,
  entry_count bigint NOT NULL,
  record_count bigint NOT NULL,
  archived_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT ledger_archives_pkey PRIMARY KEY (id),
  CONSTRAINT ledger_archives_digest_check CHECK (length(digest) = 32),
  CONSTRAINT ledger_archives_ends_on_key UNIQUE (ends_on),
  CONSTRAINT ledger_archives_file_name_key UNIQUE (file_name)
);

-- Audits of the ledger, whoever asked for them, with their progress and their findings.
CREATE TABLE ledger_audits (
  id uuid NOT NULL,
  -- The audit whose checkpoints this one continued from; null for a full audit.
  base_audit_id uuid,
  operator_id uuid,
  started_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  finished_at timestamp with time zone,
  steps_done integer NOT NULL DEFAULT 0,
  step_count integer NOT NULL,
  -- Null while it runs. If its process died, the next audit sets it to failed.
  outcome text,
  findings jsonb,
  totals jsonb,
  CONSTRAINT ledger_audits_pkey PRIMARY KEY (id),
  CONSTRAINT ledger_audits_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES users(id),
  CONSTRAINT ledger_audits_outcome_check CHECK (outcome = ANY (ARRAY['sound'::text, 'broken'::text, 'failed'::text]))
);
CREATE INDEX ledger_audits_by_start ON ledger_audits USING btree (started_at);

-- The last entry of each account that was audited without a finding, with the balance and the usage at that point. The
-- next audit continues from there.
CREATE TABLE ledger_checkpoints (
  account_id uuid NOT NULL,
  audit_id uuid NOT NULL,
  entry_number bigint NOT NULL,
  balance numeric(38,12) NOT NULL,
  usage_entry_number bigint NOT NULL,
  requests numeric(38,0) NOT NULL,
  input_tokens numeric(38,0) NOT NULL,
  output_tokens numeric(38,0) NOT NULL,
  images numeric(38,0) NOT NULL,
  cost numeric(38,12) NOT NULL,
  CONSTRAINT ledger_checkpoints_pkey PRIMARY KEY (account_id)
) WITH (fillfactor=70);

-- Every movement of a balance, numbered without gaps within its account, with the balance after it. Entries cannot be
-- changed. Partitioned into months by time, which is read while the account is locked, so that within an account months
-- are in the order of the numbers.
CREATE TABLE ledger_entries (
  account_id uuid NOT NULL,
  number bigint NOT NULL,
  kind text NOT NULL,
  amount numeric(38,12) NOT NULL,
  balance_after numeric(38,12) NOT NULL,
  generation_id uuid,
  memo text,
  created_at timestamp with time zone NOT NULL DEFAULT clock_timestamp(),
  reference uuid,
  is_estimated boolean NOT NULL DEFAULT false,
  CONSTRAINT ledger_entries_balance_after_check CHECK (balance_after >= 0::numeric),
  CONSTRAINT ledger_entries_estimate CHECK (kind = 'charge'::text OR NOT is_estimated),
  CONSTRAINT ledger_entries_kind CHECK (kind = ANY (ARRAY['credit'::text, 'charge'::text, 'refund'::text,
    'correction'::text])),
  CONSTRAINT ledger_entries_memo_check CHECK (length(memo) <= 500),
  CONSTRAINT ledger_entries_number_check CHECK (number > 0),
  CONSTRAINT ledger_entries_sign CHECK (
    CASE kind
        WHEN 'credit'::text THEN amount > 0::numeric
        WHEN 'charge'::text THEN amount <= 0::numeric
        WHEN 'refund'::text THEN amount >= 0::numeric
        ELSE amount <> 0::numeric
    END),
  CONSTRAINT ledger_entries_source CHECK ((kind = ANY (ARRAY['charge'::text,
    'refund'::text])) = (generation_id IS NOT NULL))
) PARTITION BY RANGE (created_at);
CREATE TRIGGER ledger_entries_append_only BEFORE DELETE OR UPDATE ON ledger_entries
  FOR EACH ROW
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ledger_entries_keep_reference AFTER INSERT ON ledger_entries
  FOR EACH ROW WHEN (new.reference IS NOT NULL)
  EXECUTE FUNCTION keep_credit_reference();
CREATE TRIGGER ledger_entries_never_emptied BEFORE TRUNCATE ON ledger_entries
  FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();

-- For entries of a month without a partition. It has the same indexes as each month (index_ledger_partition).
CREATE TABLE ledger_entries_default PARTITION OF ledger_entries (
  CONSTRAINT ledger_entries_default_pkey PRIMARY KEY (account_id, number)
) DEFAULT;
CREATE UNIQUE INDEX ledger_entries_default_one_charge ON ledger_entries_default USING btree (generation_id) WHERE kind =
    'charge'::text;
CREATE UNIQUE INDEX ledger_entries_default_one_credit ON ledger_entries_default USING btree (account_id,
    reference) WHERE reference IS NOT NULL;
CREATE UNIQUE INDEX ledger_entries_default_one_refund ON ledger_entries_default USING btree (generation_id) WHERE kind =
    'refund'::text;
CREATE TRIGGER ledger_entries_never_emptied BEFORE TRUNCATE ON ledger_entries_default
  FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();

-- Which users belong to an account, and in which role.
CREATE TABLE memberships (
  user_id uuid NOT NULL,
  account_id uuid NOT NULL,
  role text NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT memberships_pkey PRIMARY KEY (user_id, account_id),
  CONSTRAINT memberships_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  CONSTRAINT memberships_role_check CHECK (role = ANY (ARRAY['owner'::text, 'member'::text])),
  CONSTRAINT memberships_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX memberships_by_account ON memberships USING btree (account_id);

-- Gateway processes. A node without a heartbeat for a while has died, and others close what it left open.
CREATE TABLE nodes (
  id uuid NOT NULL,
  name text NOT NULL,
  started_at timestamp with time zone NOT NULL DEFAULT now(),
  heartbeat_at timestamp with time zone NOT NULL DEFAULT now(),
  stopped_at timestamp with time zone,
  -- What only this node knows, such as which providers it does not call now.
  report jsonb,
  version text,
  -- Null, like version, for 0.2.0 and before.
  newest_migration integer,
  CONSTRAINT nodes_pkey PRIMARY KEY (id)
);

-- Generations from admission until they are settled; hold is the money reserved. The row is deleted in the transaction
-- that writes the final one to generations, so settling twice finds nothing, and this table stays small.
CREATE TABLE open_generations (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  key_id uuid NOT NULL,
  node_id uuid NOT NULL,
  workload text NOT NULL,
  model text NOT NULL,
  provider text NOT NULL,
  streaming boolean NOT NULL,
  hold numeric(38,12) NOT NULL,
  price_list_id integer NOT NULL,
  -- The attempts so far. They become rows of attempts when the Generation is settled.
  attempts jsonb NOT NULL,
  created_at timestamp with time zone NOT NULL,
  CONSTRAINT open_generations_pkey PRIMARY KEY (id),
  CONSTRAINT open_generations_hold_check CHECK (hold >= 0::numeric)
) WITH (fillfactor=70, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000);
CREATE INDEX open_generations_by_key ON open_generations USING btree (key_id, id);
CREATE INDEX open_generations_by_node ON open_generations USING btree (node_id);

-- Who did what to whom: an operator who was signed in, or a user of the system at the command line. Like the ledger it
-- only grows.
CREATE TABLE operator_actions (
  id uuid NOT NULL,
  operator_id uuid,
  action text NOT NULL,
  account_id uuid,
  user_id uuid,
  -- What was credited.
  amount numeric(38,12),
  -- Identifies the request for a new account, so that sending it twice creates one account.
  reference uuid,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  shell_user text,
  key_id uuid,
  CONSTRAINT operator_actions_pkey PRIMARY KEY (id),
  CONSTRAINT operator_actions_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  CONSTRAINT operator_actions_action_check CHECK (action = ANY (ARRAY['create_account'::text, 'credit_account'::text,
    'suspend_account'::text, 'resume_account'::text, 'create_user'::text, 'make_reset_link'::text,
    'sign_user_out'::text, 'make_operator'::text, 'unmake_operator'::text, 'add_member'::text, 'create_key'::text,
    'update_key'::text, 'revoke_key'::text, 'retry_settlements'::text, 'repair_ledger'::text])),
  CONSTRAINT operator_actions_by_one CHECK (num_nonnulls(operator_id, shell_user) = 1),
  CONSTRAINT operator_actions_key_id_fkey FOREIGN KEY (key_id) REFERENCES api_keys(id),
  CONSTRAINT operator_actions_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES users(id),
  CONSTRAINT operator_actions_reference_key UNIQUE (reference),
  CONSTRAINT operator_actions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);
CREATE TRIGGER operator_actions_append_only BEFORE DELETE OR UPDATE ON operator_actions
  FOR EACH ROW
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER operator_actions_never_emptied BEFORE TRUNCATE ON operator_actions
  FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_change();

-- Every distinct set of prices that was ever loaded. A Generation names the one it was priced with.
CREATE TABLE price_lists (
  id integer NOT NULL GENERATED ALWAYS AS IDENTITY,
  version text NOT NULL,
  digest bytea NOT NULL,
  content jsonb NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT price_lists_pkey PRIMARY KEY (id),
  CONSTRAINT price_lists_digest_check CHECK (length(digest) = 32),
  CONSTRAINT price_lists_digest_key UNIQUE (digest)
);

-- The migrations that were applied. compatible_with is the newest migration of the oldest gateways that keep working.
CREATE TABLE schema_migrations (
  version integer NOT NULL,
  name text NOT NULL,
  digest text NOT NULL,
  applied_at timestamp with time zone NOT NULL DEFAULT now(),
  compatible_with integer,
  CONSTRAINT schema_migrations_pkey PRIMARY KEY (version)
);

-- People who are signed in. The cookie holds the token with a signature that only the gateway can make, so what is
-- stored is not enough to sign in.
CREATE TABLE sessions (
  id uuid NOT NULL,
  user_id uuid NOT NULL,
  token text NOT NULL,
  ip_address text,
  user_agent text,
  expires_at timestamp with time zone NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  updated_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT sessions_pkey PRIMARY KEY (id),
  CONSTRAINT sessions_token_key UNIQUE (token),
  CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX sessions_by_expiry ON sessions USING btree (expires_at);
CREATE INDEX sessions_by_user ON sessions USING btree (user_id);
CREATE TRIGGER sessions_note_sign_in AFTER INSERT ON sessions
  FOR EACH ROW
  EXECUTE FUNCTION note_sign_in();

-- How often something was tried recently, by someone or for someone.
CREATE TABLE sign_in_attempts (
  -- A keyed hash, which reveals neither network nor e-mail address.
  name bytea NOT NULL,
  -- The state of the limiter (GCRA).
  theoretical_arrival_at timestamp with time zone NOT NULL,
  CONSTRAINT sign_in_attempts_pkey PRIMARY KEY (name),
  CONSTRAINT sign_in_attempts_name_check CHECK (length(name) = 32)
);
CREATE INDEX sign_in_attempts_by_age ON sign_in_attempts USING btree (theoretical_arrival_at);

-- Usage totals by day (UTC), model and key, because usage records grow without end.
CREATE TABLE usage_days (
  account_id uuid NOT NULL,
  day date NOT NULL,
  model text NOT NULL,
  key_id uuid NOT NULL,
  requests bigint NOT NULL,
  input_tokens numeric(38,0) NOT NULL,
  output_tokens numeric(38,0) NOT NULL,
  images numeric(38,0) NOT NULL,
  cost numeric(38,12) NOT NULL,
  CONSTRAINT usage_days_pkey PRIMARY KEY (account_id, day, model, key_id)
) WITH (fillfactor=70);

-- The last ledger entry of each account that is included in usage_days. A day could not mark that: a usage record has
-- the time at which its request ended, but may be stored days later.
CREATE TABLE usage_progress (
  account_id uuid NOT NULL,
  entry_number bigint NOT NULL,
  CONSTRAINT usage_progress_pkey PRIMARY KEY (account_id)
) WITH (fillfactor=70);

-- Why each Generation cost what it did, under its ID: the usage, the tier, the price list and the time. Kept when the
-- Generation is dropped. Partitioned into months by ID; the primary key spans them and allows a Generation one charge.
CREATE TABLE usage_records (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  key_id uuid NOT NULL,
  model text NOT NULL,
  input_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  units bigint NOT NULL,
  unit text NOT NULL,
  tier text,
  cost numeric(38,12) NOT NULL,
  price_list_id integer NOT NULL,
  -- The month whose limit it counted towards, by the database's clock.
  month date NOT NULL,
  billed_at timestamp with time zone NOT NULL,
  -- The record of a refunded charge stays, but no longer counts as usage.
  refunded_at timestamp with time zone,
  CONSTRAINT usage_records_pkey PRIMARY KEY (id),
  CONSTRAINT usage_records_cost_check CHECK (cost >= 0::numeric),
  CONSTRAINT usage_records_input_tokens_check CHECK (input_tokens >= 0),
  CONSTRAINT usage_records_output_tokens_check CHECK (output_tokens >= 0),
  CONSTRAINT usage_records_unit_check CHECK (unit = ANY (ARRAY['tokens'::text, 'images'::text])),
  CONSTRAINT usage_records_units_check CHECK (units >= 0)
) PARTITION BY RANGE (id);
CREATE INDEX usage_records_by_account ON usage_records USING btree (account_id, billed_at, id);

-- For IDs of nodes whose clock is wrong.
CREATE TABLE usage_records_default PARTITION OF usage_records DEFAULT;

-- How a user signs in: a password, as a hash.
CREATE TABLE user_credentials (
  id uuid NOT NULL,
  user_id uuid NOT NULL,
  provider_id text NOT NULL,
  provider_account_id text NOT NULL,
  password text,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  updated_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT user_credentials_pkey PRIMARY KEY (id),
  CONSTRAINT user_credentials_provider_id_provider_account_id_key UNIQUE (provider_id, provider_account_id),
  CONSTRAINT user_credentials_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX user_credentials_by_user ON user_credentials USING btree (user_id);

-- People who sign in. Operators run the gateway itself.
CREATE TABLE users (
  id uuid NOT NULL,
  email text NOT NULL,
  name text NOT NULL,
  email_verified boolean NOT NULL DEFAULT false,
  image text,
  is_operator boolean NOT NULL DEFAULT false,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  updated_at timestamp with time zone NOT NULL DEFAULT now(),
  -- Kept here, because a session is gone when it ends.
  last_signed_in_at timestamp with time zone,
  CONSTRAINT users_pkey PRIMARY KEY (id),
  CONSTRAINT users_email_check CHECK (email = lower(email)),
  CONSTRAINT users_email_key UNIQUE (email)
);

-- One-time links for choosing a new password, as hashes.
CREATE TABLE verifications (
  id uuid NOT NULL,
  identifier text NOT NULL,
  value text NOT NULL,
  -- The operator who has seen the link; null when it was mailed or made at the command line.
  made_by uuid,
  expires_at timestamp with time zone NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  updated_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT verifications_pkey PRIMARY KEY (id),
  CONSTRAINT verifications_made_by_fkey FOREIGN KEY (made_by) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX verifications_by_expiry ON verifications USING btree (expires_at);
CREATE INDEX verifications_by_identifier ON verifications USING btree (identifier);
CREATE INDEX verifications_by_maker ON verifications USING btree (made_by) WHERE made_by IS NOT NULL;
CREATE INDEX verifications_by_value ON verifications USING btree (value);

-- What the operator, not the customer, bears: usage that was not reported, not plausible, or lost.
CREATE TABLE write_offs (
  generation_id uuid NOT NULL,
  account_id uuid NOT NULL,
  reason text NOT NULL,
  amount numeric(38,12),
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  reported_input_tokens bigint,
  reported_output_tokens bigint,
  CONSTRAINT write_offs_pkey PRIMARY KEY (generation_id),
  CONSTRAINT write_offs_amount_check CHECK (amount > 0::numeric),
  CONSTRAINT write_offs_reason CHECK (reason = ANY (ARRAY['usage_missing'::text, 'insufficient_balance'::text,
    'interrupted'::text, 'implausible_usage'::text]))
);

-- Accounts as the lists of the operator show them.
CREATE VIEW account_overviews AS
 SELECT id,
    name,
    balance,
    held,
    suspended_at IS NOT NULL AS is_suspended,
    created_at,
    ( SELECT count(*)::integer AS count
           FROM api_keys
          WHERE api_keys.account_id = accounts.id AND COALESCE(api_keys.revoked_at > now(),
    true) AND COALESCE(api_keys.expires_at > now(), true)) AS keys_in_force,
    ( SELECT count(*)::integer AS count
           FROM memberships
          WHERE memberships.account_id = accounts.id) AS members,
    (( SELECT COALESCE(sum(api_key_meters.month_spent), 0::numeric) AS "coalesce"
           FROM api_keys
             JOIN api_key_meters ON api_key_meters.key_id = api_keys.id
          WHERE api_keys.account_id = accounts.id AND api_key_meters.month = date_trunc('month'::text,
    (now() AT TIME ZONE 'UTC'::text))))::numeric(38,12) AS month_spent
   FROM accounts;

-- Generations as lists show them.
CREATE VIEW finished_generations AS
 SELECT id,
    account_id,
    key_id,
    created_at,
    completed_at,
    status,
    workload,
    model,
    provider,
    streaming,
    fallback,
    latency_ms,
    time_to_first_token_ms,
    input_tokens,
    output_tokens,
    units,
    unit,
    cost_input,
    cost_output,
    cost_total,
    error_code
   FROM generations;

-- Finished and open Generations with their attempts, for showing one of them.
CREATE VIEW generation_details AS
 SELECT generation.id,
    generation.account_id,
    generation.key_id,
    generation.created_at,
    generation.completed_at,
    generation.status,
    generation.workload,
    generation.model,
    generation.provider,
    generation.streaming,
    generation.fallback,
    generation.latency_ms,
    generation.time_to_first_token_ms,
    generation.input_tokens,
    generation.output_tokens,
    generation.units,
    generation.unit,
    generation.cost_input,
    generation.cost_output,
    generation.cost_total,
    generation.error_code,
    ( SELECT jsonb_agg(jsonb_build_object('index', attempt.index, 'provider', attempt.provider, 'status',
    attempt.status, 'startedAtMs', EXTRACT(epoch FROM attempt.started_at) * 1000::numeric, 'completedAtMs',
    EXTRACT(epoch FROM attempt.completed_at) * 1000::numeric, 'upstreamStatus', attempt.upstream_status, 'errorCode',
    attempt.error_code) ORDER BY attempt.index) AS jsonb_agg
           FROM attempts attempt
          WHERE attempt.generation_id = generation.id) AS attempts
   FROM finished_generations generation
UNION ALL
 SELECT generation.id,
    generation.account_id,
    generation.key_id,
    generation.created_at,
    generation.completed_at,
    generation.status,
    generation.workload,
    generation.model,
    generation.provider,
    generation.streaming,
    generation.fallback,
    generation.latency_ms,
    generation.time_to_first_token_ms,
    generation.input_tokens,
    generation.output_tokens,
    generation.units,
    generation.unit,
    generation.cost_input,
    generation.cost_output,
    generation.cost_total,
    generation.error_code,
    ( SELECT open_generations.attempts
           FROM open_generations
          WHERE open_generations.id = generation.id) AS attempts
   FROM unfinished_generations generation;

-- Open Generations, with the columns of finished_generations.
CREATE VIEW unfinished_generations AS
 SELECT id,
    account_id,
    key_id,
    created_at,
    NULL::timestamp with time zone AS completed_at,
    'in_progress'::text AS status,
    workload,
    model,
    provider,
    streaming,
    jsonb_array_length(attempts) > 1 AS fallback,
    milliseconds_since(created_at) AS latency_ms,
    NULL::integer AS time_to_first_token_ms,
    NULL::bigint AS input_tokens,
    NULL::bigint AS output_tokens,
    NULL::bigint AS units,
    NULL::text AS unit,
    NULL::numeric AS cost_input,
    NULL::numeric AS cost_output,
    NULL::numeric AS cost_total,
    NULL::text AS error_code
   FROM open_generations;

-- Users as the lists of the operator show them.
CREATE VIEW user_overviews AS
 SELECT id,
    email,
    name,
    email_verified,
    is_operator,
    last_signed_in_at,
    created_at,
    ( SELECT count(*)::integer AS count
           FROM sessions
          WHERE sessions.user_id = users.id AND sessions.expires_at > now()) AS sessions,
    ( SELECT COALESCE(json_agg(json_build_object('id', accounts.id, 'name', accounts.name, 'role',
    memberships.role) ORDER BY accounts.id), '[]'::json) AS "coalesce"
           FROM memberships
             JOIN accounts ON accounts.id = memberships.account_id
          WHERE memberships.user_id = users.id) AS accounts
   FROM users;

-- For a row of accounts. The gateway declares this type, and the others that it passes to ledger_commit, with the same
-- columns in the same order.
CREATE TYPE ledger_account_change AS (
  id uuid,
  version bigint,
  new_version bigint,
  balance numeric,
  held numeric,
  entry_count bigint
);

-- For ledger_write, which 0.2.0 calls.
CREATE TYPE ledger_account_row AS (
  id uuid,
  balance numeric,
  held numeric,
  entry_count bigint
);

-- staged is 'whole' or 'short' for a response that was written before, and null if answer has the response.
CREATE TYPE ledger_answer_row AS (
  key_id uuid,
  name text,
  request_id uuid,
  answer text,
  staged text
);

-- For a row of attempts.
CREATE TYPE ledger_attempt_row AS (
  generation_id uuid,
  index smallint,
  provider text,
  status text,
  started_at_ms double precision,
  completed_at_ms double precision,
  upstream_status smallint,
  error_code text
);

-- An idempotent request, by its key and its hashed name, and the Generation that carries it out.
CREATE TYPE ledger_claim_row AS (
  key_id uuid,
  name text,
  request_id uuid
);

-- For ledger_write, which 0.2.0 calls.
CREATE TYPE ledger_closed_row AS (
  id uuid,
  provider text,
  status text,
  attempt_count smallint,
  input_tokens bigint,
  output_tokens bigint,
  units bigint,
  unit text,
  tier text,
  cost_input numeric,
  cost_output numeric,
  cost_total numeric,
  latency_ms integer,
  time_to_first_token_ms integer,
  error_code text,
  completed_at_ms double precision,
  entry_number bigint,
  balance_after numeric,
  is_estimated boolean
);

-- For a row of api_key_meters.
CREATE TYPE ledger_meter_change AS (
  key_id uuid,
  version bigint,
  new_version bigint,
  held numeric,
  month_spent numeric,
  theoretical_arrival_ms double precision,
  open_count integer
);

-- For ledger_write, which 0.2.0 calls.
CREATE TYPE ledger_meter_row AS (
  key_id uuid,
  held numeric,
  month_spent numeric,
  theoretical_arrival_ms double precision,
  open_count integer
);

-- For a row of open_generations.
CREATE TYPE ledger_opened_row AS (
  id uuid,
  account_id uuid,
  key_id uuid,
  node_id uuid,
  workload text,
  model text,
  provider text,
  streaming boolean,
  hold numeric,
  price_list_id integer,
  attempts jsonb,
  created_at_ms double precision
);

-- Everything about a Generation that has ended. It does not need the open row, which a crash of the database may have
-- lost.
CREATE TYPE ledger_settled_row AS (
  id uuid,
  account_id uuid,
  key_id uuid,
  workload text,
  model text,
  provider text,
  status text,
  streaming boolean,
  attempt_count smallint,
  hold numeric,
  price_list_id integer,
  input_tokens bigint,
  output_tokens bigint,
  units bigint,
  unit text,
  tier text,
  cost_input numeric,
  cost_output numeric,
  cost_total numeric,
  latency_ms integer,
  time_to_first_token_ms integer,
  error_code text,
  created_at_ms double precision,
  completed_at_ms double precision,
  entry_number bigint,
  balance_after numeric,
  is_estimated boolean
);

-- A row that a decision relies on without changing it.
CREATE TYPE ledger_version AS (
  id uuid,
  version bigint
);

-- For a row of write_offs.
CREATE TYPE ledger_write_off_row AS (
  generation_id uuid,
  account_id uuid,
  reason text,
  amount numeric,
  reported_input_tokens bigint,
  reported_output_tokens bigint
);

-- Adds the next entries of an account to usage_days, and returns how many. A concurrent call waits, then continues
-- after them.
CREATE FUNCTION add_up_usage(of_account uuid, max_entries integer)
 RETURNS bigint
 LANGUAGE plpgsql
AS $$
declare
  done bigint;
  reached bigint;
begin
  insert into usage_progress (account_id, entry_number) values (of_account, 0) on conflict do nothing;
  select entry_number into done from usage_progress where account_id = of_account for update;
  select least(entry_count, done + max_entries) into reached from accounts where id = of_account;
  insert into usage_days as days (account_id, day, model, key_id, requests, input_tokens, output_tokens, images, cost)
  select of_account, day, model, key_id, sum(requests), sum(input_tokens), sum(output_tokens), sum(images), sum(cost)
  from usage_of_entries(of_account, done + 1, reached)
  group by day, model, key_id
  on conflict (account_id, day, model, key_id) do update
  set requests = days.requests + excluded.requests, input_tokens = days.input_tokens + excluded.input_tokens,
      output_tokens = days.output_tokens + excluded.output_tokens, images = days.images + excluded.images,
      cost = days.cost + excluded.cost;
  update usage_progress set entry_number = reached where account_id = of_account;
  return reached - done;
end $$;

-- Nodes keep keys in memory for a few seconds; a change drops the copies everywhere at once.
CREATE FUNCTION announce_account_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $$
begin
  perform pg_notify('tollgate_keys', '*');
  return null;
end $$;

-- Like announce_account_change, for one key.
CREATE FUNCTION announce_key_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $$
begin
  perform pg_notify('tollgate_keys', encode(new.hash, 'hex'));
  return null;
end $$;

-- Books a credit under the lock of its account. Returns 'credited'; 'repeated' if this reference was credited before
-- with the same amount, 'different' if with another one; 'missing' if there is no such account.
CREATE FUNCTION book_credit(to_account uuid, credited numeric, with_memo text, with_reference uuid)
 RETURNS TABLE(outcome text, new_balance numeric, earlier_amount numeric, earlier_memo text)
 LANGUAGE plpgsql
AS $$
declare
  earlier credit_references;
begin
  select balance into new_balance from accounts where id = to_account for no key update;
  if not found then
    outcome := 'missing';
    return next;
    return;
  end if;
  select * into earlier from credit_references where account_id = to_account and reference = with_reference;
  if found then
    earlier_amount := earlier.amount;
    earlier_memo := earlier.memo;
    outcome := case when earlier.amount = credited then 'repeated' else 'different' end;
    return next;
    return;
  end if;
  with account as (
    update accounts set balance = balance + credited, entry_count = entry_count + 1 where id = to_account
    returning id, balance, entry_count
  )
  insert into ledger_entries (account_id, number, kind, amount, balance_after, memo, reference)
  select id, entry_count, 'credit', credited, balance, with_memo, with_reference from account
  returning balance_after into new_balance;
  outcome := 'credited';
  return next;
end $$;

-- Creates the monthly partitions from one day to another; those of the ledger at most three months ahead. Can be
-- repeated; the caller lets one node do it at a time. Rows in a default partition move to the month that is created for
-- them.
CREATE FUNCTION create_partitions(from_day date, to_day date)
 RETURNS void
 LANGUAGE plpgsql
AS $$
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
      from (values ('generations', 'id'), ('attempts', 'generation_id'), ('usage_records', 'id')) as base (name, key)
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

-- One round trip, because requests of the account wait while its row is locked. Returns what book_credit does, but also
-- 'different' for another memo, and 'denied' if there is no such operator.
CREATE FUNCTION credit_by_operator(by_operator uuid, to_account uuid, credited numeric, with_memo text,
    with_reference uuid, action_id uuid)
 RETURNS text
 LANGUAGE plpgsql
AS $$
declare
  booked record;
begin
  perform 1 from users where id = by_operator and is_operator for share;
  if not found then return 'denied'; end if;
  select * into booked from book_credit(to_account, credited, with_memo, with_reference);
  if booked.outcome = 'credited' then
    insert into operator_actions (id, operator_id, action, account_id, amount)
    values (action_id, by_operator, 'credit_account', to_account, credited);
  end if;
  return case when booked.outcome = 'repeated' and booked.earlier_memo is distinct from with_memo then 'different'
              else booked.outcome end;
end $$;

-- One round trip, like credit_by_operator, for the command line.
CREATE FUNCTION credit_from_shell(by_shell_user text, to_account uuid, credited numeric, with_memo text,
    with_reference uuid, action_id uuid)
 RETURNS TABLE(outcome text, new_balance numeric, earlier_amount numeric)
 LANGUAGE plpgsql
AS $$
begin
  select booked.outcome, booked.new_balance, booked.earlier_amount into outcome, new_balance, earlier_amount
  from book_credit(to_account, credited, with_memo, with_reference) as booked;
  if outcome = 'credited' then
    insert into operator_actions (id, shell_user, action, account_id, amount)
    values (action_id, by_shell_user, 'credit_account', to_account, credited);
  end if;
  return next;
end $$;

-- The smallest UUIDv7 that can be made at a time: a boundary between partitions.
CREATE FUNCTION first_id_at(at timestamp with time zone)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE
AS $$
  select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;

-- Creates the indexes of a month of the ledger. The table cannot have them itself: a unique index of it would have to
-- include the time.
CREATE FUNCTION index_ledger_partition(partition text)
 RETURNS void
 LANGUAGE plpgsql
AS $$
begin
  execute format('alter table %I add primary key (account_id, number)', partition);
  execute format('create unique index %I on %I (generation_id) where kind = %L', partition || '_one_charge', partition, 'charge');
  execute format('create unique index %I on %I (generation_id) where kind = %L', partition || '_one_refund', partition, 'refund');
  execute format('create unique index %I on %I (account_id, reference) where reference is not null', partition || '_one_credit', partition);
  execute format('create trigger ledger_entries_never_emptied before truncate on %I for each statement execute function refuse_change()', partition);
end $$;

-- Writes credit_references.
CREATE FUNCTION keep_credit_reference()
 RETURNS trigger
 LANGUAGE plpgsql
AS $$
begin
  insert into credit_references (account_id, reference, amount, memo)
  values (new.account_id, new.reference, new.amount, new.memo);
  return null;
end $$;

-- Writes a batch that was decided at at_ms on the given versions of rows, and returns the time. If anything differs
-- from what the gateway assumed, this is a serialization failure and changes nothing. An array without rows is null;
-- open_count is how many of the settled Generations are open. The sessions of the ledger do not wait for the disk; with
-- is_durable this commit does.
CREATE FUNCTION ledger_commit(at_ms double precision, this_month date, account_rows ledger_account_change[],
    meter_rows ledger_meter_change[], relied_accounts ledger_version[], relied_meters ledger_version[],
    claim_rows ledger_claim_row[], opened_rows ledger_opened_row[], settled_rows ledger_settled_row[],
    open_count integer, attempt_rows ledger_attempt_row[], write_off_rows ledger_write_off_row[],
    answer_rows ledger_answer_row[], is_durable boolean)
 RETURNS double precision
 LANGUAGE plpgsql
AS $$
declare
  affected integer;
  at timestamptz;
  changed uuid;
begin
  if is_durable then
    set local synchronous_commit to default;
  end if;

  -- The rows come in the order of their IDs, and are locked in it.
  update accounts set balance = row.balance, held = row.held, entry_count = row.entry_count, version = row.new_version
  from unnest(account_rows) as row where accounts.id = row.id and accounts.version = row.version;
  get diagnostics affected = row_count;
  if affected < cardinality(account_rows) then
    select row.id into changed from unnest(account_rows) as row
    where not exists (select 1 from accounts where accounts.id = row.id and accounts.version = row.new_version);
    raise serialization_failure using message = 'an account has changed', table = 'accounts', detail = changed;
  end if;

  update api_key_meters
  set held = row.held, month = this_month, month_spent = row.month_spent, open_count = row.open_count,
      last_used_at = now(), theoretical_arrival_at = to_timestamp(row.theoretical_arrival_ms / 1000),
      version = row.new_version
  from unnest(meter_rows) as row where api_key_meters.key_id = row.key_id and api_key_meters.version = row.version;
  get diagnostics affected = row_count;
  if affected < cardinality(meter_rows) then
    select row.key_id into changed from unnest(meter_rows) as row
    where not exists (select 1 from api_key_meters where api_key_meters.key_id = row.key_id and api_key_meters.version = row.new_version);
    raise serialization_failure using message = 'a key has changed', table = 'api_key_meters', detail = changed;
  end if;

  if relied_accounts is not null then
    select count(*) into affected from accounts join unnest(relied_accounts) as row using (id, version);
    if affected < cardinality(relied_accounts) then
      raise serialization_failure using message = 'an account has changed', table = 'accounts';
    end if;
  end if;
  if relied_meters is not null then
    select count(*) into affected
    from api_key_meters join unnest(relied_meters) as row on row.id = key_id and row.version = api_key_meters.version;
    if affected < cardinality(relied_meters) then
      raise serialization_failure using message = 'a key has changed', table = 'api_key_meters';
    end if;
  end if;

  at := clock_timestamp();
  if abs(extract(epoch from at)::float8 * 1000 - at_ms) > 5000 or date_trunc('month', at at time zone 'UTC') <> this_month then
    raise serialization_failure using message = 'the time has changed';
  end if;

  if claim_rows is not null then
    perform ledger_require_claims(claim_rows);
  end if;

  if opened_rows is not null then
    insert into open_generations (id, account_id, key_id, node_id, workload, model, provider, streaming, hold,
      price_list_id, attempts, created_at)
    select id, account_id, key_id, node_id, workload, model, provider, streaming, hold, price_list_id, attempts,
           to_timestamp(created_at_ms / 1000)
    from unnest(opened_rows);
  end if;

  if settled_rows is not null then
    delete from open_generations where id in (select id from unnest(settled_rows));
    get diagnostics affected = row_count;
    if affected <> open_count then
      raise serialization_failure using message = 'a Generation is no longer open', table = 'open_generations';
    end if;

    with settled as materialized (
      select *, to_timestamp(completed_at_ms / 1000) as completed_at from unnest(settled_rows)
    ), used as (
      insert into usage_records (id, account_id, key_id, model, input_tokens, output_tokens, units, unit, tier, cost,
        price_list_id, month, billed_at)
      select id, account_id, key_id, model, input_tokens, output_tokens, units, unit, tier, cost_total, price_list_id,
             this_month, completed_at
      from settled where cost_total is not null
    ), charged as (
      insert into ledger_entries (account_id, number, kind, amount, balance_after, generation_id, is_estimated, created_at)
      select account_id, entry_number, 'charge', -cost_total, balance_after, id, is_estimated, at
      from settled where cost_total is not null
    )
    insert into generations (id, account_id, key_id, workload, model, provider, status, streaming, fallback,
      attempt_count, hold, price_list_id, input_tokens, output_tokens, units, unit, tier, cost_input, cost_output,
      cost_total, latency_ms, time_to_first_token_ms, error_code, created_at, completed_at)
    select id, account_id, key_id, workload, model, provider, status, streaming, attempt_count > 1, attempt_count,
           nullif(hold, 0), price_list_id, input_tokens, output_tokens, units, unit, tier, cost_input, cost_output,
           cost_total, latency_ms, time_to_first_token_ms, error_code, to_timestamp(created_at_ms / 1000), completed_at
    from settled;

    insert into attempts (generation_id, index, provider, status, started_at, completed_at, upstream_status, error_code)
    select generation_id, index, provider, status, to_timestamp(started_at_ms / 1000),
           to_timestamp(completed_at_ms / 1000), upstream_status, error_code
    from unnest(attempt_rows);
  end if;

  if write_off_rows is not null then
    insert into write_offs (generation_id, account_id, reason, amount, reported_input_tokens, reported_output_tokens)
    select * from unnest(write_off_rows);
  end if;

  if answer_rows is not null then
    perform ledger_store_answers(answer_rows);
  end if;

  return extract(epoch from at)::float8 * 1000;
end $$;

-- Removes the record of a Generation that was closed too early or set aside. The same transaction settles it.
CREATE FUNCTION ledger_discard_ended(of_generation uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $$
begin
  delete from generations where id = of_generation;
  delete from attempts where generation_id = of_generation;
  delete from write_offs where generation_id = of_generation;
  delete from dead_letters where generation_id = of_generation;
end $$;

-- The earlier ledger_find_missing, which 0.2.0 calls.
CREATE FUNCTION ledger_find_ended(wanted_rows ledger_claim_row[], this_month date)
 RETURNS TABLE(id uuid, "errorCode" text, "isDeadLetter" boolean, "isClaimed" boolean, charged numeric,
    "isThisMonth" boolean)
 LANGUAGE plpgsql
AS $$
begin
  perform 1 from idempotent_requests as request
  join unnest(wanted_rows) as wanted
    on request.key_id = wanted.key_id and request.name_hash = decode(wanted.name, 'hex')
    and request.request_id = wanted.request_id
  order by request.key_id, request.name_hash
  for update of request;
  return query
  select generations.id, generations.error_code, dead_letters.generation_id is not null,
         wanted.name is null or request.request_id is not null, -charge.amount,
         coalesce(usage_records.month = this_month, false)
  from unnest(wanted_rows) as wanted
  join generations on generations.id = wanted.request_id
  left join dead_letters on dead_letters.generation_id = generations.id
  left join idempotent_requests as request
    on request.key_id = wanted.key_id and request.name_hash = decode(wanted.name, 'hex')
    and request.request_id = wanted.request_id
  left join ledger_entries as charge on charge.generation_id = generations.id and charge.kind = 'charge'
    and not exists (
      select 1 from ledger_entries as refund where refund.generation_id = generations.id and refund.kind = 'refund')
  left join usage_records on usage_records.id = charge.generation_id;
end $$;

-- How Generations that should be settled but are not open have ended: interrupted, because their node seemed dead; set
-- aside; settled, with what was charged and not refunded; or lost, when nothing is known of them. A claim that still
-- stands is locked.
CREATE FUNCTION ledger_find_missing(wanted_rows ledger_claim_row[], this_month date)
 RETURNS TABLE(id uuid, "isLost" boolean, "errorCode" text, "isDeadLetter" boolean, "isClaimed" boolean,
    charged numeric, "isThisMonth" boolean)
 LANGUAGE plpgsql
AS $$
begin
  perform 1 from idempotent_requests as request
  join unnest(wanted_rows) as wanted
    on request.key_id = wanted.key_id and request.name_hash = decode(wanted.name, 'hex')
    and request.request_id = wanted.request_id
  order by request.key_id, request.name_hash
  for update of request;
  return query
  select wanted.request_id,
         generations.id is null and usage_records.id is null
           and not exists (select 1 from ledger_archives where first_id_at(ends_on) > wanted.request_id),
         generations.error_code, dead_letters.generation_id is not null,
         wanted.name is null or request.request_id is not null,
         case when usage_records.refunded_at is null then usage_records.cost end,
         coalesce(usage_records.month = this_month, false)
  from unnest(wanted_rows) as wanted
  left join generations on generations.id = wanted.request_id
  left join dead_letters on dead_letters.generation_id = wanted.request_id
  left join idempotent_requests as request
    on request.key_id = wanted.key_id and request.name_hash = decode(wanted.name, 'hex')
    and request.request_id = wanted.request_id
  left join usage_records on usage_records.id = wanted.request_id;
end $$;

-- The earlier ledger_read, which 0.2.0 calls.
CREATE FUNCTION ledger_lock(account_ids uuid[], key_ids uuid[], generation_ids uuid[])
 RETURNS json
 LANGUAGE plpgsql
AS $$
declare
  locked_accounts json;
  locked_meters json;
  locked_open json;
  at timestamptz;
  this_month date;
begin
  select json_agg(row) into locked_accounts from (
    select id, balance::text, held::text, entry_count::text as "entryCount", suspended_at is not null as "isSuspended"
    from accounts where id = any (account_ids) order by id for no key update
  ) as row;
  perform 1 from api_key_meters where key_id = any (key_ids) order by key_id for no key update;
  -- The clock is read when the locks are held: time must not seem to run backwards between two batches.
  at := clock_timestamp();
  this_month := date_trunc('month', at at time zone 'UTC');
  select json_agg(row) into locked_meters from (
    select key_id as "keyId", held::text, monthly_limit::text as "monthlyLimit",
           (case when month = this_month then month_spent else 0 end)::text as "monthSpent",
           requests_per_minute as "requestsPerMinute", max_concurrent as "maxConcurrent", open_count as "openCount",
           extract(epoch from theoretical_arrival_at)::float8 * 1000 as "theoreticalArrivalMs",
           coalesce(revoked_at <= at, false) as "isRevoked", coalesce(expires_at <= at, false) as "isExpired"
    from api_key_meters join api_keys on api_keys.id = key_id where key_id = any (key_ids)
  ) as row;
  select json_agg(row) into locked_open from (
    select id, hold::text from open_generations where id = any (generation_ids) order by id for update
  ) as row;
  return json_build_object(
    'accounts', locked_accounts,
    'meters', locked_meters,
    'open', locked_open,
    'nowMs', extract(epoch from at)::float8 * 1000,
    'month', this_month);
end $$;

-- What a batch is decided on. With locks, nobody changes it before the end of the transaction: accounts before keys
-- before Generations, each in the order of their IDs, so two nodes never wait for each other.
CREATE FUNCTION ledger_read(account_ids uuid[], key_ids uuid[], generation_ids uuid[], is_locking boolean)
 RETURNS json
 LANGUAGE plpgsql
AS $$
declare
  read_accounts json;
  read_meters json;
  read_open json;
begin
  if is_locking then
    perform 1 from accounts where id = any (account_ids) order by id for no key update;
    perform 1 from api_key_meters where key_id = any (key_ids) order by key_id for no key update;
    perform 1 from open_generations where id = any (generation_ids) order by id for update;
  end if;
  select json_agg(row) into read_accounts from (
    select id, version::text, balance::text, held::text, entry_count::text as "entryCount",
           suspended_at is not null as "isSuspended"
    from accounts where id = any (account_ids)
  ) as row;
  select json_agg(row) into read_meters from (
    select key_id as "keyId", version::text, held::text, monthly_limit::text as "monthlyLimit", month,
           month_spent::text as "monthSpent", requests_per_minute as "requestsPerMinute",
           max_concurrent as "maxConcurrent", open_count as "openCount",
           extract(epoch from theoretical_arrival_at)::float8 * 1000 as "theoreticalArrivalMs",
           extract(epoch from revoked_at)::float8 * 1000 as "revokedAtMs",
           extract(epoch from expires_at)::float8 * 1000 as "expiresAtMs"
    from api_key_meters join api_keys on api_keys.id = key_id where key_id = any (key_ids)
  ) as row;
  if generation_ids is not null then
    select json_agg(row) into read_open from (
      select id, hold::text from open_generations where id = any (generation_ids)
    ) as row;
  end if;
  -- The clock is read when the locks are held: time must not seem to run backwards between two batches.
  return json_build_object(
    'accounts', read_accounts,
    'meters', read_meters,
    'open', read_open,
    'nowMs', extract(epoch from clock_timestamp())::float8 * 1000);
end $$;

-- Refunds a charge, once: its response was withheld, because nobody could know in time that the charge was committed.
CREATE FUNCTION ledger_refund(of_generation uuid, entry_number bigint, new_balance numeric)
 RETURNS void
 LANGUAGE plpgsql
AS $$
begin
  update usage_records set refunded_at = now() where id = of_generation and refunded_at is null;
  if not found then
    raise exception 'the charge was refunded before'
      using errcode = 'unique_violation', table = 'usage_records';
  end if;
  insert into ledger_entries (account_id, number, kind, amount, balance_after, generation_id)
  select account_id, entry_number, 'refund', -amount, new_balance, generation_id
  from ledger_entries where generation_id = of_generation and kind = 'charge';
  update generations
  set status = 'failed', error_code = 'billing_consistency_error', input_tokens = null, output_tokens = null, units = null,
      unit = null, tier = null, cost_input = null, cost_output = null, cost_total = null
  where id = of_generation;
  insert into write_offs (generation_id, account_id, reason)
  select id, account_id, 'interrupted' from generations where id = of_generation
  on conflict (generation_id) do update set reason = 'interrupted';
end $$;

-- A request is run by the node that claimed it last. Once it was taken over, the former node must not admit it, so
-- admission checks the claim and locks it.
CREATE FUNCTION ledger_require_claims(claim_rows ledger_claim_row[])
 RETURNS void
 LANGUAGE plpgsql
AS $$
declare
  claimed integer;
begin
  select count(*) into claimed from (
    select 1 from idempotent_requests as request
    join unnest(claim_rows) as row
      on request.key_id = row.key_id and request.name_hash = decode(row.name, 'hex') and request.request_id = row.request_id
    order by request.key_id, request.name_hash
    for update of request
  ) as held;
  if claimed < cardinality(claim_rows) then
    raise exception 'a request was taken over'
      using errcode = 'integrity_constraint_violation', table = 'idempotent_requests';
  end if;
end $$;

-- Stores responses with their charge: no charge loses its response, and no response is stored without its charge.
CREATE FUNCTION ledger_store_answers(answer_rows ledger_answer_row[])
 RETURNS void
 LANGUAGE sql
AS $$
  update idempotent_requests as request
  set chosen = row.staged,
      answer = case when row.staged is null then decode(row.answer, 'base64') end,
      staged = case when row.staged = 'whole' then request.staged end,
      staged_when_short = case when row.staged = 'short' then request.staged_when_short end
  from unnest(answer_rows) as row
  where request.key_id = row.key_id and request.name_hash = decode(row.name, 'hex') and request.request_id = row.request_id
$$;

-- The earlier ledger_commit, which 0.2.0 calls under the locks of ledger_lock.
CREATE FUNCTION ledger_write(this_month date, account_rows ledger_account_row[], meter_rows ledger_meter_row[],
    opened_rows ledger_opened_row[], closed_rows ledger_closed_row[], attempt_rows ledger_attempt_row[],
    write_off_rows ledger_write_off_row[])
 RETURNS void
 LANGUAGE plpgsql
AS $$
declare
  month_begins_at constant timestamptz := this_month::timestamp at time zone 'UTC';
  month_ends_at constant timestamptz := (this_month + interval '1 month') at time zone 'UTC';
  written_at constant timestamptz := least(greatest(now(), month_begins_at), month_ends_at - interval '1 microsecond');
begin
  update accounts set balance = row.balance, held = row.held, entry_count = row.entry_count
  from unnest(account_rows) as row where accounts.id = row.id;

  update api_key_meters
  set held = row.held, month = this_month, month_spent = row.month_spent, open_count = row.open_count,
      last_used_at = now(), theoretical_arrival_at = to_timestamp(row.theoretical_arrival_ms / 1000)
  from unnest(meter_rows) as row where api_key_meters.key_id = row.key_id;

  if opened_rows is not null then
    insert into open_generations (id, account_id, key_id, node_id, workload, model, provider, streaming, hold,
      price_list_id, attempts, created_at)
    select id, account_id, key_id, node_id, workload, model, provider, streaming, hold, price_list_id, attempts,
           to_timestamp(created_at_ms / 1000)
    from unnest(opened_rows);
  end if;

  if closed_rows is not null then
    -- What stays the same from admission on is taken from the row that the settlement closes.
    with settled as materialized (
      select * from unnest(closed_rows)
    ), no_longer_open as (
      delete from open_generations where id in (select id from settled)
      returning id, account_id, key_id, workload, model, streaming, hold, price_list_id, created_at
    ), used as (
      insert into usage_records (id, account_id, key_id, model, input_tokens, output_tokens, units, unit, tier, cost,
        price_list_id, month, billed_at)
      select id, account_id, key_id, model, input_tokens, output_tokens, units, unit, tier, cost_total, price_list_id,
             this_month, to_timestamp(completed_at_ms / 1000)
      from no_longer_open join settled using (id) where cost_total is not null
    ), charged as (
      insert into ledger_entries (account_id, number, kind, amount, balance_after, generation_id, is_estimated, created_at)
      select account_id, entry_number, 'charge', -cost_total, balance_after, id, is_estimated, written_at
      from no_longer_open join settled using (id) where cost_total is not null
    )
    insert into generations (id, account_id, key_id, workload, model, provider, status, streaming, fallback,
      attempt_count, hold, price_list_id, input_tokens, output_tokens, units, unit, tier, cost_input, cost_output,
      cost_total, latency_ms, time_to_first_token_ms, error_code, created_at, completed_at)
    select id, account_id, key_id, workload, model, provider, status, streaming, attempt_count > 1, attempt_count,
           nullif(hold, 0), price_list_id, input_tokens, output_tokens, units, unit, tier, cost_input, cost_output,
           cost_total, latency_ms, time_to_first_token_ms, error_code, created_at,
           to_timestamp(completed_at_ms / 1000)
    from no_longer_open join settled using (id);

    insert into attempts (generation_id, index, provider, status, started_at, completed_at, upstream_status, error_code)
    select generation_id, index, provider, status, to_timestamp(started_at_ms / 1000),
           to_timestamp(completed_at_ms / 1000), upstream_status, error_code
    from unnest(attempt_rows);
  end if;

  if write_off_rows is not null then
    insert into write_offs (generation_id, account_id, reason, amount, reported_input_tokens, reported_output_tokens)
    select * from unnest(write_off_rows);
  end if;
end $$;

-- At most the largest integer: a Generation may be open for 25 days, for instance after a backup is restored.
CREATE FUNCTION milliseconds_since(at timestamp with time zone)
 RETURNS integer
 LANGUAGE sql
 STABLE
AS $$
  select least(greatest(floor(extract(epoch from now() - at) * 1000), 0), 2147483647)::integer
$$;

-- Writes users.last_signed_in_at.
CREATE FUNCTION note_sign_in()
 RETURNS trigger
 LANGUAGE plpgsql
AS $$
begin
  update users set last_signed_in_at = new.created_at where id = new.user_id;
  return null;
end $$;

-- 0.2.0 mistakes a request with a chosen response for one without a response. It must not run it a second time.
CREATE FUNCTION protect_chosen_response()
 RETURNS trigger
 LANGUAGE plpgsql
AS $$
begin
  if old.expires_at > now() then
    return null;
  end if;
  new.chosen := null;
  return new;
end $$;

-- A version that a row never had before.
CREATE FUNCTION random_version()
 RETURNS bigint
 LANGUAGE sql
AS $$
  select (random() * 9e18)::bigint
$$;

-- For tables that only grow.
CREATE FUNCTION refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $$
begin
  raise exception '% is append-only', tg_table_name;
end $$;

-- The version of a meter covers the limits of its key, too.
CREATE FUNCTION renew_meter_version()
 RETURNS trigger
 LANGUAGE plpgsql
AS $$
begin
  perform set_config('idle_in_transaction_session_timeout', '5s', true);
  update api_key_meters set version = random_version() where key_id = new.id;
  return null;
end $$;

-- Gives a row a new version when a change does not set one, as only the ledger does. Others wait for such a change, so
-- it is soon rolled back when its client is gone.
CREATE FUNCTION renew_version()
 RETURNS trigger
 LANGUAGE plpgsql
AS $$
begin
  perform set_config('idle_in_transaction_session_timeout', '5s', true);
  new.version := random_version();
  return new;
end $$;

-- The earlier ledger_discard_ended, which 0.2.0 calls.
CREATE FUNCTION reopen_generations(ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
AS $$
begin
  with given_up as (
    delete from generations where id = any (ids)
    returning id, account_id, key_id, workload, model, provider, streaming, price_list_id, created_at
  )
  insert into open_generations (id, account_id, key_id, node_id, workload, model, provider, streaming, hold, price_list_id,
    attempts, created_at)
  select id, account_id, key_id, '00000000-0000-0000-0000-000000000000', workload, model, provider, streaming, 0,
         price_list_id, '[]', created_at
  from given_up;
  delete from attempts where generation_id = any (ids);
  delete from write_offs where generation_id = any (ids);
  delete from dead_letters where generation_id = any (ids);
end $$;

-- The seconds until every limit has room for one more attempt.
CREATE FUNCTION sign_in_wait(limits jsonb)
 RETURNS integer
 LANGUAGE sql
AS $$
  select greatest(0, ceil(max(
    extract(epoch from theoretical_arrival_at - clock_timestamp()) + (interval_ms - period_ms) / 1000.0)))::integer
  from jsonb_to_recordset(limits) as item (name text, interval_ms float8, period_ms float8)
  left join sign_in_attempts on sign_in_attempts.name = decode(item.name, 'hex')
  where theoretical_arrival_at > clock_timestamp()
$$;

-- Counts an attempt against all of these limits, or against none of them. Returns how many seconds to wait; 0 if it was
-- counted. Each limit is {name, interval_ms, period_ms}: one attempt per interval, as many at once as the period has
-- room for.
CREATE FUNCTION take_sign_in_attempt(limits jsonb)
 RETURNS integer
 LANGUAGE plpgsql
AS $$
declare
  wait_seconds integer := sign_in_wait(limits);
begin
  -- Whoever must wait is told so without a lock, so that a flood does not queue up behind one.
  if wait_seconds > 0 then return wait_seconds; end if;
  -- Locks the rows, always in the same order. One that is not there is made first: it could not be locked, and of many
  -- first attempts at once only one must be the first.
  insert into sign_in_attempts (name, theoretical_arrival_at)
  select decode(item ->> 'name', 'hex'), '-infinity' from jsonb_array_elements(limits) as item order by 1
  on conflict (name) do update set theoretical_arrival_at = sign_in_attempts.theoretical_arrival_at;
  wait_seconds := sign_in_wait(limits);
  if wait_seconds > 0 then return wait_seconds; end if;
  update sign_in_attempts
  set theoretical_arrival_at = greatest(theoretical_arrival_at, clock_timestamp()) + make_interval(secs => interval_ms / 1000.0)
  from jsonb_to_recordset(limits) as item (name text, interval_ms float8)
  where sign_in_attempts.name = decode(item.name, 'hex');
  return 0;
end
$$;

-- The usage in a range of an account's entries, one row for each: a charge adds its record, a refund takes it back.
CREATE FUNCTION usage_of_entries(of_account uuid, first_number bigint, last_number bigint)
 RETURNS TABLE(day date, model text, key_id uuid, requests bigint, input_tokens numeric, output_tokens numeric,
    images numeric, cost numeric)
 LANGUAGE sql
 STABLE
AS $$
  select (billed_at at time zone 'UTC')::date, used.model, used.key_id, sign::bigint, sign * used.input_tokens::numeric,
         sign * used.output_tokens::numeric, case unit when 'images' then sign * units::numeric else 0 end,
         sign * used.cost
  from (
    select generation_id, case kind when 'refund' then -1 else 1 end as sign
    from ledger_entries where account_id = of_account and number >= first_number and number <= last_number
    order by number limit last_number - first_number + 1
  ) as entry
  cross join lateral (select * from usage_records where id = entry.generation_id limit 1) as used
$$;
