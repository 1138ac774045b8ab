/** What needs attention, with a link to where it can be fixed. */
import type { Attention } from '../../../src/console/contract.ts';
import { formatBalance, formatMoney, formatMoneyExactly, formatUsed } from '../../kit/amounts.ts';
import { formatTime } from '../../kit/format-figures.ts';
import { formatEnd } from '../home/runway.ts';

type Notice = Readonly<{
  key: string;
  tone: 'warn' | 'bad';
  title: string;
  text: string;
  link: Readonly<{ to: '/billing' | '/keys' | '/models'; label: string }>;
}>;

const toBilling = { to: '/billing', label: 'Go to billing' } as const;
const toKeys = { to: '/keys', label: 'Go to keys' } as const;

export function describeAttention(attention: Attention): Notice {
  switch (attention.kind) {
    case 'account_suspended':
      return {
        key: attention.kind,
        tone: 'bad',
        title: 'This account is suspended',
        text: 'Its keys are rejected until the operator of this gateway lifts the suspension.',
        link: toBilling,
      };
    case 'balance_empty':
    case 'balance_blocked':
    case 'balance_low':
      return { key: attention.kind, link: toBilling, ...describeBalance(attention) };
    case 'key_near_limit':
    case 'key_at_limit':
      return describeLimit(attention);
    case 'key_blocked':
      return {
        key: `${attention.kind} ${attention.key_id}`,
        tone: 'bad',
        title: `The key “${attention.name}” is blocked by its monthly limit`,
        text: `${formatMoney(attention.left)} is left this month, and a typical request holds ${formatMoney(attention.typical_hold)}. An owner can raise the limit, or requests can ask for fewer tokens.`,
        link: toKeys,
      };
    case 'key_expiring':
      return {
        key: `${attention.kind} ${attention.key_id}`,
        tone: 'warn',
        title: `The key “${attention.name}” expires soon`,
        text: `It expires on ${formatTime(new Date(attention.expires_at), 'moment')}. Extend it, or replace the key.`,
        link: toKeys,
      };
    case 'key_expired':
      return {
        key: `${attention.kind} ${attention.key_id}`,
        tone: 'bad',
        title: `The key “${attention.name}” has expired`,
        text: `It expired on ${formatTime(new Date(attention.expires_at), 'moment')}. Create a new key if you still need one.`,
        link: toKeys,
      };
    case 'model_unavailable':
      return {
        key: `${attention.kind} ${attention.model} ${attention.provider}`,
        tone: 'warn',
        title: `${attention.model} is unavailable at ${attention.provider}`,
        text: `The provider failed several times in a row${untilText(attention.until)}. Requests go to another provider if there is one.`,
        link: { to: '/models', label: 'View other models' },
      };
  }
}

type BalanceAttention = Extract<Attention, { balance: string }>;

function describeBalance(attention: BalanceAttention): Pick<Notice, 'tone' | 'title' | 'text'> {
  switch (attention.kind) {
    case 'balance_empty':
      return {
        tone: 'bad',
        title: 'The balance is used up',
        text: 'New requests are refused until credit is added.',
      };
    case 'balance_blocked':
      return {
        tone: 'bad',
        title: 'A typical request no longer fits the balance',
        text: `${formatMoney(attention.balance)} is available, and a typical request holds ${formatMoney(attention.typical_hold)}. Requests are refused until credit is added, unless they ask for fewer tokens.`,
      };
    case 'balance_low':
      return {
        tone: 'warn',
        title: `The balance is low: ${formatBalance(attention.balance)}`,
        text: `${attention.runs_out_at === null ? '' : `Lasts until about ${formatEnd(new Date(attention.runs_out_at), new Date())}. `}Requests are refused once it is used up.`,
      };
  }
}

function describeLimit(attention: Extract<Attention, { limit: string }>): Notice {
  const isReached = attention.kind === 'key_at_limit';
  const figures = `${formatUsed(attention.spent, attention.limit)} of ${formatMoneyExactly(attention.limit)} spent or held this month.`;
  return {
    key: `${attention.kind} ${attention.key_id}`,
    tone: isReached ? 'bad' : 'warn',
    title: isReached
      ? `The key “${attention.name}” has reached its monthly limit`
      : `The key “${attention.name}” is near its monthly limit`,
    text: `${figures} ${isReached ? 'Its requests are refused until next month.' : 'Its requests are refused once the limit is reached.'} An owner can raise the limit.`,
    link: toKeys,
  };
}

/** Once its time is over it is tried again, but still not known to work. */
function untilText(until: string | null): string {
  return until === null
    ? ', and no call has succeeded since. It is tried again with one of the next requests'
    : ` and is not called until ${formatTime(new Date(until), 'moment')}`;
}
