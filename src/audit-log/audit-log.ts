/** Records who changed what, and through which door. Like the ledger, the log only grows. */
import type { SQL } from 'bun';
import { newId } from '../lib/ids.ts';

/** A user who is signed in. */
export type DashboardActor = Readonly<{ door: 'dashboard'; userId: string; address: string | null }>;
/** A token of the admin API. */
export type TokenActor = Readonly<{ door: 'api'; tokenId: string; address: string | null }>;
/** A user of the system, as `user@host`. */
export type ShellActor = Readonly<{ door: 'cli'; shellUser: string }>;

/** Who makes a change. Each door has its own kind of actor. */
export type Actor = DashboardActor | TokenActor | ShellActor;

export type Action =
  | 'create_account'
  | 'update_account'
  | 'credit_account'
  | 'correct_account'
  | 'refund_generation'
  | 'void_grant'
  | 'create_allowance'
  | 'end_allowance'
  | 'suspend_account'
  | 'resume_account'
  | 'create_key'
  | 'update_key'
  | 'replace_key'
  | 'revoke_key'
  | 'create_limit'
  | 'update_limit'
  | 'remove_limit'
  | 'create_webhook'
  | 'update_webhook'
  | 'remove_webhook'
  | 'rotate_webhook_secret'
  | 'create_user'
  | 'sign_up'
  | 'make_reset_link'
  | 'change_password'
  | 'sign_user_out'
  | 'make_operator'
  | 'unmake_operator'
  | 'add_member'
  | 'update_member'
  | 'remove_member'
  | 'create_invitation'
  | 'revoke_invitation'
  | 'accept_invitation'
  | 'create_token'
  | 'revoke_token'
  | 'retry_settlements'
  | 'repair_ledger'
  | 'reconcile_bill'
  | 'create_codes'
  | 'void_codes'
  | 'redeem_code'
  | 'update_top_up'
  | 'remove_card'
  | 'refund_payment';

export type ObjectType =
  | 'account'
  | 'key'
  | 'limit'
  | 'webhook'
  | 'user'
  | 'invitation'
  | 'token'
  | 'provider'
  | 'codes'
  | 'payment'
  | 'allowance';

/** Values as they are on the wire. Never a secret, nor anything that one can be derived from. */
export type Fields = Readonly<Record<string, unknown>>;

export type Change = Readonly<{
  action: Action;
  /** The account whose owners see the change. */
  accountId?: string | null;
  /** What was changed. Without it, the account. */
  object?: Readonly<{ type: ObjectType; id: string }>;
  /** Left out for what is new. */
  before?: Fields;
  after?: Fields;
}>;

/** Belongs in the transaction of the change. */
export async function recordChange(sql: SQL, actor: Actor, change: Change): Promise<void> {
  await sql`insert into audit_log (${changeColumns(sql)}) values (${changeValues(sql, actor, change)})`;
}

/** For a statement that makes the change itself. */
export function changeColumns(sql: SQL) {
  return sql`id, door, actor_user_id, actor_token_id, actor_shell_user, address, action, account_id, object_type, object_id,
    before, after`;
}

export function changeValues(sql: SQL, actor: Actor, change: Change) {
  const { action, accountId = null, before, after } = change;
  const object = change.object ?? (accountId === null ? null : { type: 'account', id: accountId });
  return sql`${newId()}::uuid, ${actor.door}::text, ${actor.door === 'dashboard' ? actor.userId : null}::uuid,
    ${actor.door === 'api' ? actor.tokenId : null}::uuid, ${actor.door === 'cli' ? actor.shellUser : null}::text,
    ${actor.door === 'cli' ? null : actor.address}::text, ${action}::text, ${accountId}::uuid, ${object?.type ?? null}::text,
    ${object?.id ?? null}::text, ${jsonOf(before)}::text::jsonb, ${jsonOf(after)}::text::jsonb`;
}

function jsonOf(fields: Fields | undefined): string | null {
  return fields === undefined ? null : JSON.stringify(fields);
}

/** Only the fields that differ, as they were and as they are. */
export function differenceOf(before: Fields, after: Fields): Required<Pick<Change, 'before' | 'after'>> {
  const names = Object.keys(after).filter(
    (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  );
  const pick = (fields: Fields) => Object.fromEntries(names.map((name) => [name, fields[name]]));
  return { before: pick(before), after: pick(after) };
}
