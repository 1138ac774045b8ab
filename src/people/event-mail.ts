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

/** A mail is tried again after so long, and then after twice as long each time, up to this many times. */
const firstPauseMinutes = 2;
const maxDoublings = 5;

/** On every node that can send mail. Each mail is sent by whoever takes it first, until a mail server has taken it. */
export function keepEventMailsSent(sql: SQL, mailer: Mailer, log: Log): () => Promise<void> {
  return repeatedly(
    everyMs,
    () => sendEventMails(sql, mailer),
    (fields) => log.warn('mails about events not sent yet', fields),
  );
}

/** No more at a time than it waits for, so that mails which people wait for are not held up. */
export async function sendEventMails(sql: SQL, mailer: Mailer): Promise<void> {
  let isMore = true;
  while (isMore) {
    const taken = await shortTransaction(sql, (transaction) => takeMails(transaction));
    const areOver = await Promise.all(taken.map((row) => sendOne(sql, mailer, row)));
    isMore = taken.length === maxAtOnce && areOver.every(Boolean);
  }
}

/** Whether nothing is left to do for it. */
async function sendOne(sql: SQL, mailer: Mailer, row: TakenMail): Promise<boolean> {
  const mail = mailOf(row, mailer.origin);
  if (mail !== null && (await mailer.deliver(mail)) === 'failed') return false;
  await sql`delete from event_mails where event_id = ${row.event_id} and user_id = ${row.user_id}`;
  return true;
}

type TakenMail = MailedEvent & Readonly<{ event_id: string; user_id: string }>;

/** What an event says of a payment may be more by now: only the newest receipt and the reason of a pause are of use. */
async function takeMails(transaction: TransactionSQL): Promise<TakenMail[]> {
  await transaction`
    delete from event_mails where event_id < first_id_at(now() - make_interval(hours => ${maxAgeHours}::int))`;
  return await transaction<TakenMail[]>`
    with taken as (
      update event_mails
      set attempts = attempts + 1,
          taken_until = now() + make_interval(mins => ${firstPauseMinutes}::int << least(attempts, ${maxDoublings}::int))
      where (event_id, user_id) in (
        select event_id, user_id from event_mails where taken_until is null or taken_until <= now()
        order by event_id limit ${maxAtOnce}::int for update skip locked)
      returning event_id, user_id, to_operator
    )
    select event_id, user_id, type, data, to_operator, accounts.id as account_id, coalesce(accounts.name, '') as account_name,
           email, receipt_url, case when kind = 'automatic' then paused_reason end as paused_reason
    from taken join events on events.id = event_id
    left join accounts on accounts.id = coalesce(events.account_id, (data ->> 'account_id')::uuid)
    join users on users.id = user_id
    left join payment_orders on payment_orders.id = (data ->> 'payment_id')::uuid
    left join payment_customers on payment_customers.account_id = accounts.id`;
}
