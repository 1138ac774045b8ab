/**
 * What mails about events say. Names of accounts and hosts of webhooks are left out: anyone can choose them freely. Pure.
 */
import { linkMail, type Mail } from './mailer.ts';

/** An event, and who is told of it. */
export type MailedEvent = Readonly<{
  type: string;
  data: Readonly<Record<string, unknown>>;
  /** Null for what concerns the operator alone. */
  account_id: string | null;
  email: string;
  /** Whether they get it as an operator, and not as a member of the account. */
  to_operator: boolean;
  /** Of the payment that the event is about; null when there is none. */
  receipt_url: string | null;
  /** Why automatic top-ups are paused; null when they are not, or the event is about something else. */
  paused_reason: string | null;
}>;

type Words = Readonly<{
  subject: string;
  sentence: string;
  instruction: string;
  /** A page of the dashboard, or an address of its own. */
  path: string;
  /** For a mail that nobody chooses. */
  farewell?: string;
}>;

/** Null for an event that is not mailed. */
export function mailOf(event: MailedEvent, origin: string): Mail | null {
  const words = event.to_operator ? wordsForOperator(event) : (wordsOf(event) ?? wordsOfPayment(event));
  if (words === null) return null;
  const { account_id: account, to_operator: toOperator } = event;
  return linkMail(event.email, words.subject, {
    greeting: words.sentence,
    instruction: words.instruction,
    url: words.path.startsWith('/')
      ? `${origin}${words.path}${toOperator ? '' : `?account=${account}`}`
      : words.path,
    farewell:
      words.farewell ??
      (toOperator
        ? 'You get this mail as an operator.'
        : 'Choose which of these mails you get on the page Team.'),
  });
}

function wordsOf({ type, data }: MailedEvent): Words | null {
  const usd = (name: string) => usdOf(data[name]);
  switch (type) {
    case 'balance.low':
      return {
        subject: 'Your balance is low',
        sentence: `The balance of your account is ${usd('balance')}, which is below ${usd('threshold')}.`,
        instruction: 'When it is used up, requests are refused. See what is left:',
        path: '/billing',
      };
    case 'budget.reached':
      return {
        subject: `${data.percent} % of a budget are used`,
        sentence: `${usd('used')} of a limit of ${usd('amount')} are used in your account.`,
        instruction:
          'When it is used up, requests are refused until the next period begins. See what was used:',
        path: '/usage',
      };
    case 'grant.expiring':
      return {
        subject: 'Credit expires soon',
        sentence: `${usd('remaining')} of the ${data.category} credit of your account expire on ${dayOf(data.expires_at)}.`,
        instruction: 'What is not spent by then is gone. See what is left:',
        path: '/billing',
      };
    case 'key.used_up':
      return {
        subject: 'An API key has reached its monthly limit',
        sentence: `The API key ${data.hint} of your account has used ${usd('used')} of ${usd('amount')} this month.`,
        instruction: 'Its requests are refused until the next month begins, or its limit is raised:',
        path: '/keys',
      };
    case 'key.expired':
      return {
        subject: 'An API key has expired',
        sentence: `The API key ${data.hint} of your account has expired.`,
        instruction: 'Its requests are refused. Create a new one, or let it be valid for longer:',
        path: '/keys',
      };
    case 'webhook.disabled':
      return wordsOfWebhook('A webhook of your account', data, '/webhooks');
    default:
      return null;
  }
}

function wordsOfWebhook(what: string, data: MailedEvent['data'], path: string): Words {
  const reason =
    data.because === 'gone'
      ? 'It answered that it is gone for good (410).'
      : 'Nothing has reached it for three days.';
  return {
    subject: 'A webhook was disabled',
    sentence: `${what} no longer gets events. ${reason}`,
    instruction: 'When it works again, enable it here, and replay what it has missed:',
    path,
    farewell: 'Events are kept for 30 days.',
  };
}

function wordsOfPayment(event: MailedEvent): Words | null {
  const { type, data, receipt_url: receipt } = event;
  const usd = (name: string) => usdOf(data[name]);
  switch (type) {
    case 'payment.succeeded':
      return {
        subject: data.kind === 'automatic' ? 'Credit was added automatically' : 'Your payment was received',
        sentence: `${usd('paid')} were paid, and ${usd('amount')} of credit were added to your account.`,
        instruction: receipt === null ? 'See all payments:' : 'Here is the receipt:',
        path: receipt ?? '/billing',
      };
    case 'payment.failed':
      if (data.reason === 'contradicted') return wordsOfContradiction(event);
      return data.kind === 'automatic' ? wordsOfFailedTopUp(event) : wordsOfFailure(event);
    case 'payment.refunded':
      return {
        subject: 'A payment was refunded',
        sentence: `${usd('amount')} of a payment of your account were refunded, which takes ${usd('credit')} of its credit.`,
        instruction: 'See what is left:',
        path: '/billing',
      };
    case 'payment.disputed':
      return {
        subject: 'A payment is disputed',
        sentence: `A payment of your account is disputed with the bank, over ${usd('amount')}. That takes ${usd('credit')} of its credit, until the dispute is decided.`,
        instruction: 'If this is a mistake, tell your bank and the operator. See the payment:',
        path: '/billing',
      };
    default:
      return null;
  }
}

/** Money was taken, so nobody should pay once more. */
function wordsOfContradiction({ data }: MailedEvent): Words {
  return {
    subject: 'A payment could not be credited yet',
    sentence: `${usdOf(data.paid)} were paid for your account, which is not what was ordered. Nothing was credited yet, and the operator has been told.`,
    instruction: 'Please do not pay again. See the payment:',
    path: '/billing',
  };
}

function wordsOfFailure({ data }: MailedEvent): Words {
  return {
    subject: 'A payment has failed',
    sentence: `A payment of ${usdOf(data.amount)} for your account has failed. Nothing was credited.`,
    instruction: 'You can pay in another way:',
    path: '/billing',
  };
}

/** The bank's word says what to do, and is shown on the page of payments, too. */
function wordsOfFailedTopUp({ data, paused_reason: reason }: MailedEvent): Words {
  return {
    subject: 'An automatic top-up has failed',
    sentence: `${usdOf(data.amount)} could not be added to your account automatically${reason === null ? '' : `: ${reason.replaceAll('_', ' ')}`}.`,
    instruction:
      reason === null
        ? 'See what is left:'
        : 'The card is not charged again before an owner saves another card, or the settings of top-ups:',
    path: '/billing',
  };
}

function wordsForOperator({ type, data, account_id: account }: MailedEvent): Words | null {
  switch (type) {
    case 'payment.disputed':
      return {
        subject: 'A customer disputes a payment',
        sentence: `A payment of account ${account} is disputed, over ${usdOf(data.amount)}.`,
        instruction: 'Stripe takes evidence for a few days only. See the payment:',
        path: '/operator/payments',
      };
    case 'payment.warned':
      return {
        subject: 'A payment was reported as fraud',
        sentence: `The owner of the card has reported a payment of account ${account} as fraud: ${String(data.fraud_type).replaceAll('_', ' ')}.`,
        instruction: data.is_actionable
          ? 'A refund now may avoid a dispute and its fee. See the payment:'
          : 'It was refunded or disputed already. See the payment:',
        path: '/operator/payments',
      };
    case 'webhook.disabled':
      return wordsOfWebhook('A webhook of the operator', data, '/operator/webhooks');
    default:
      return null;
  }
}

/** 2026-11-20T09:30:00.000Z as people read it. */
function dayOf(time: unknown): string {
  return String(time).replace(/^(\S+)T(\d\d:\d\d).*$/, '$1 at $2 UTC');
}

/** At least two decimals, and no zeros that say nothing. */
function usdOf(amount: unknown): string {
  return `${String(amount).replace(/(\.\d\d\d*?)0+$/, '$1')} USD`;
}
