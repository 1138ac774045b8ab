/** Mails what happened to an account to those of its people who want that. */
import type { SQL, TransactionSQL } from 'bun';
import type { Log } from '../lib/log.ts';
import { repeatedly } from '../lib/repeatedly.ts';
import { shortTransaction } from '../lib/short-transaction.ts';
import { linkMail, type Mail, type Mailer } from './mailer.ts';

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

type EventRow = Readonly<{
  type: string;
  data: Readonly<Record<string, unknown>>;
  account_id: string;
  account_name: string;
  email: string;
}>;

export async function sendEventMails(sql: SQL, mailer: Mailer): Promise<void> {
  let count = maxAtOnce;
  while (count === maxAtOnce) {
    const rows = await shortTransaction(sql, (transaction) => takeMails(transaction));
    count = rows.length;
    for (const row of rows) mailer.send(async () => mailOf(row, mailer.origin));
  }
}

async function takeMails(transaction: TransactionSQL): Promise<EventRow[]> {
  await transaction`
    delete from event_mails where event_id < first_id_at(now() - make_interval(hours => ${maxAgeHours}::int))`;
  return await transaction<EventRow[]>`
    with taken as (
      delete from event_mails where (event_id, user_id) in (
        select event_id, user_id from event_mails order by event_id limit ${maxAtOnce}::int for update skip locked)
      returning event_id, user_id
    )
    select type, data, accounts.id as account_id, accounts.name as account_name, email
    from taken join events on events.id = event_id join accounts on accounts.id = account_id
    join users on users.id = user_id`;
}

/** Null for an event that is not mailed. */
export function mailOf(
  { type, data, account_id, account_name, email }: EventRow,
  origin: string,
): Mail | null {
  const words = wordsOf(type, data, account_name);
  if (words === null) return null;
  return linkMail(email, words.subject, {
    greeting: words.sentence,
    instruction: words.instruction,
    url: `${origin}${words.path}?account=${account_id}`,
    farewell: 'Choose which of these mails you get on the page Team.',
  });
}

type Words = Readonly<{ subject: string; sentence: string; instruction: string; path: string }>;

function wordsOf(type: string, data: EventRow['data'], account: string): Words | null {
  const usd = (name: string) => `${shortened(String(data[name]))} USD`;
  switch (type) {
    case 'balance.low':
      return {
        subject: 'Your balance is low',
        sentence: `The balance of ${account} is ${usd('balance')}, which is below ${usd('threshold')}.`,
        instruction: 'When it is used up, requests are refused. See what is left:',
        path: '/billing',
      };
    case 'budget.reached':
      return {
        subject: `${data.percent} % of a budget are used`,
        sentence: `${usd('used')} of a limit of ${usd('amount')} are used in ${account}.`,
        instruction:
          'When it is used up, requests are refused until the next period begins. See what was used:',
        path: '/usage',
      };
    case 'key.used_up':
      return {
        subject: 'An API key has reached its monthly limit',
        sentence: `The API key ${data.hint} of ${account} has used ${usd('used')} of ${usd('amount')} this month.`,
        instruction: 'Its requests are refused until the next month begins, or its limit is raised:',
        path: '/keys',
      };
    case 'key.expired':
      return {
        subject: 'An API key has expired',
        sentence: `The API key ${data.hint} of ${account} has expired.`,
        instruction: 'Its requests are refused. Create a new one, or let it be valid for longer:',
        path: '/keys',
      };
    default:
      return null;
  }
}

/** At least two decimals, and no zeros that say nothing. */
function shortened(amount: string): string {
  return amount.replace(/(\.\d\d\d*?)0+$/, '$1');
}
