/** Records what was done from a shell in the operators' log, which like the ledger cannot be changed. */
import type { SQL } from 'bun';
import { newId } from '../lib/ids.ts';
import { formatMoney, type Money } from '../lib/money.ts';

export type ShellAction = Readonly<{
  action:
    | 'create_account'
    | 'create_user'
    | 'make_reset_link'
    | 'create_key'
    | 'update_key'
    | 'revoke_key'
    | 'retry_settlements'
    | 'repair_ledger'
    | 'reconcile_bill';
  accountId?: string | null;
  userId?: string;
  keyId?: string;
  /** The ID in the catalogue. */
  provider?: string;
  /** What was credited. */
  amount?: Money;
}>;

/** Belongs in the transaction of the change. The account of a key is recorded with the key. */
export async function recordShellAction(
  sql: SQL,
  shellUser: string,
  { action, accountId = null, userId, keyId, provider, amount = 0n }: ShellAction,
): Promise<void> {
  await sql`
    insert into operator_actions (id, shell_user, action, account_id, user_id, key_id, provider, amount)
    values (${newId()}, ${shellUser}, ${action},
      coalesce(${accountId}::uuid, (select account_id from api_keys where id = ${keyId ?? null}::uuid)),
      ${userId ?? null}::uuid, ${keyId ?? null}::uuid, ${provider ?? null}::text,
      ${amount === 0n ? null : formatMoney(amount)}::numeric)`;
}
