-- compatible-with: 0015
--
-- What an upgrade needs to know about the gateways that are running, and what can be repaired after one that went wrong.

-- The version of the node, and the newest migration that it knows. Nodes of earlier versions leave both empty.
alter table nodes add column version text, add column newest_migration integer;

alter table operator_actions drop constraint operator_actions_action_check;
alter table operator_actions add constraint operator_actions_action_check check (action in (
  'create_account', 'credit_account', 'suspend_account', 'resume_account', 'create_user', 'make_reset_link',
  'sign_user_out', 'make_operator', 'unmake_operator', 'add_member', 'create_key', 'update_key', 'revoke_key',
  'retry_settlements', 'repair_ledger'));
