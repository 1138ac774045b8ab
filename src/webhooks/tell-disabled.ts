/**
 * Tells that a webhook was disabled, in the transaction in which it is: by an event, and by mails to the owners of its account
 * who have verified their address, or to the operators.
 */
import type { TransactionSQL } from 'bun';

export type DisabledBecause = 'gone' | 'failing';

const maxRecipients = 20;

export async function tellDisabled(
  transaction: TransactionSQL,
  endpoint: Readonly<{ id: string; account_id: string | null; url: string }>,
  because: DisabledBecause,
): Promise<void> {
  const { id, account_id: accountId, url } = endpoint;
  const data = JSON.stringify({ endpoint_id: id, host: new URL(url).host, because });
  const recipients =
    accountId === null
      ? transaction`select id from users where is_operator`
      : transaction`
          select user_id as id from memberships join users on users.id = user_id
          where account_id = ${accountId} and role = 'owner' and email_verified`;
  await transaction`
    with told as (
      insert into events (account_id, type, data) values (${accountId}::uuid, 'webhook.disabled', ${data}::text::jsonb)
      returning id
    )
    insert into event_mails (event_id, user_id, to_operator)
    select told.id, recipient.id, ${accountId === null}::boolean
    from told cross join (select id from (${recipients}) as found order by id limit ${maxRecipients}::int) as recipient`;
}
