/** Mails what happened to an account to those of its people who want that. */
import type { SQL, TransactionSQL } from 'bun';
import type { Log } from '../lib/log.ts';
import { repeatedly } from '../lib/repeatedly.ts';
import { shortTransaction } from '../lib/short-transaction.ts';
import { type MailedEvent, mailOf } from './event-mail-words.ts';
import type { Mailer } from './mailer.ts';

const everyMs = 2_000;
const maxAtOnce = 20;
/** What is older is no news: mail may have been configured only now. */
const maxAgeHours = 24;

/** On every node that can send mail. Each mail is sent by whoever takes it first. */
export function keepEventMailsSent(sql: SQL, mailer: Mailer, log: Log): () => Promise<void> {
  return repeatedly(
    everyMs,
    () => sendEventMails(sql, mailer),
    (fields) => log.warn('mails about events not sent yet', fields),
  );
}

export async function sendEventMails(sql: SQL, mailer: Mailer): Promise<void> {
  let count = maxAtOnce;
  while (count === maxAtOnce) {
    const rows = await shortTransaction(sql, (transaction) => takeMails(transaction));
    count = rows.length;
    for (const row of rows) mailer.send(async () => mailOf(row, mailer.origin));
  }
}

/** What an event says of a payment may be more by now: only the newest receipt and the reason of a pause are of use. */
async function takeMails(transaction: TransactionSQL): Promise<MailedEvent[]> {
  await transaction`
    delete from event_mails where event_id < first_id_at(now() - make_interval(hours => ${maxAgeHours}::int))`;
  return await transaction<MailedEvent[]>`
    with taken as (
      delete from event_mails where (event_id, user_id) in (
        select event_id, user_id from event_mails order by event_id limit ${maxAtOnce}::int for update skip locked)
      returning event_id, user_id, to_operator
    )
    select type, data, to_operator, accounts.id as account_id, accounts.name as account_name, email, receipt_url,
           case when kind = 'automatic' then paused_reason end as paused_reason
    from taken join events on events.id = event_id
    join accounts on accounts.id = coalesce(events.account_id, (data ->> 'account_id')::uuid)
    join users on users.id = user_id
    left join payment_orders on payment_orders.id = (data ->> 'payment_id')::uuid
    left join payment_customers on payment_customers.account_id = accounts.id`;
}
