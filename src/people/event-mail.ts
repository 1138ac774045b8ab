/** Mails what happened to an account to those of its people who want that. */
import type { SQL, TransactionSQL } from 'bun';
import type { Log } from '../lib/log.ts';
import { repeatedly } from '../lib/repeatedly.ts';
import { shortTransaction } from '../lib/short-transaction.ts';
import { type Attempts, isWithin, type Limit } from './attempts.ts';
import { type MailedEvent, mailOf } from './event-mail-words.ts';
import type { Mailer } from './mailer.ts';

const everyMs = 2_000;
const maxAtOnce = 20;
/** What is older is no news: mail may have been configured only now. */
const maxAgeHours = 24;

/** A mail is tried again after so long, and then after twice as long each time, up to this many times. */
const firstPauseMinutes = 2;
const maxDoublings = 5;

const hour = 60 * 60;

/** An account can cause events at will, and must neither flood its people nor use up what a mail server takes. */
function mailLimits(accountId: string, userId: string): Limit[] {
  return [
    { scope: 'event-mail', subject: `${accountId} ${userId}`, max: 20, periodSeconds: hour },
    { scope: 'event-mail-user', subject: userId, max: 60, periodSeconds: hour },
    { scope: 'event-mail-account', subject: accountId, max: 100, periodSeconds: hour },
  ];
}

type MailServices = Readonly<{ sql: SQL; mailer: Mailer; attempts: Attempts }>;

/** On every node that can send mail. Each mail is sent by whoever takes it first, until a mail server has taken it. */
export function keepEventMailsSent(services: MailServices, log: Log): () => Promise<void> {
  return repeatedly(
    everyMs,
    () => sendEventMails(services),
    (fields) => log.warn('mails about events not sent yet', fields),
  );
}

/** No more at a time than it waits for, so that mails which people wait for are not held up. */
export async function sendEventMails(services: MailServices): Promise<void> {
  let isMore = true;
  while (isMore) {
    const taken = await shortTransaction(services.sql, takeMails);
    const areOver = await Promise.all(taken.map((row) => sendOne(services, row)));
    isMore = taken.length === maxAtOnce && areOver.every(Boolean);
  }
}

/** Whether nothing is left to do for it. */
async function sendOne({ sql, mailer, attempts }: MailServices, row: TakenMail): Promise<boolean> {
  const mail = (await isWithinLimits(attempts, row)) ? mailOf(row, mailer.origin) : null;
  if (mail !== null && (await mailer.deliver(mail)) === 'failed') return false;
  await sql`delete from event_mails where event_id = ${row.event_id} and user_id = ${row.user_id}`;
  return true;
}

/** Each mail counts once, however often it is tried. Operators get all of theirs. */
async function isWithinLimits(attempts: Attempts, row: TakenMail): Promise<boolean> {
  if (row.to_operator || row.account_id === null || row.attempts > 1) return true;
  return await isWithin(attempts, mailLimits(row.account_id, row.user_id));
}

type TakenMail = MailedEvent & Readonly<{ event_id: string; user_id: string; attempts: number }>;

/**
 * Accounts take turns, so that one with many events does not hold up the others, and the operators' mails come first.
 * What an event says of a payment may be more by now: only the newest receipt and the reason of a
 * pause are of use.
 */
async function takeMails(transaction: TransactionSQL): Promise<TakenMail[]> {
  await transaction`
    delete from event_mails where event_id < first_id_at(now() - make_interval(hours => ${maxAgeHours}::int))`;
  return await transaction<TakenMail[]>`
    with taken as (
      update event_mails
      set attempts = attempts + 1,
          taken_until = now() + make_interval(mins => ${firstPauseMinutes}::int << least(attempts, ${maxDoublings}::int))
      where (event_id, user_id) in (
        select event_id, user_id from event_mails
        where (event_id, user_id) in (
          select event_id, user_id from event_mails join events on events.id = event_id
          where taken_until is null or taken_until <= now()
          order by not to_operator, row_number() over (partition by account_id order by event_id), event_id
          limit ${maxAtOnce}::int)
          and (taken_until is null or taken_until <= now())
        for update skip locked)
      returning event_id, user_id, to_operator, attempts
    )
    select event_id, user_id, type, data, to_operator, attempts, accounts.id as account_id, email,
           receipt_url, case when kind = 'automatic' then paused_reason end as paused_reason
    from taken join events on events.id = event_id
    left join accounts on accounts.id = coalesce(events.account_id, (data ->> 'account_id')::uuid)
    join users on users.id = user_id
    left join payment_orders on payment_orders.id = (data ->> 'payment_id')::uuid
    left join payment_customers on payment_customers.account_id = accounts.id`;
}
