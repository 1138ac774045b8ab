/** What is wrong with the gateway now, in words, with where it is shown. */
import type { OperatorHome } from '../../../../src/console/home-contract.ts';
import { formatMoney } from '../../../kit/amounts.ts';
import { formatCount, formatDay, formatTime } from '../../../kit/format-figures.ts';
import { accountLink, type Destination } from '../../../links.ts';

export type Concern = Readonly<{
  key: string;
  tone: 'warn' | 'bad';
  title: string;
  text: string;
  link: Destination;
}>;

type About = Pick<
  OperatorHome,
  | 'failed_settlements'
  | 'short_accounts'
  | 'failing_webhooks'
  | 'circuits'
  | 'nodes'
  | 'audit'
  | 'reconciliation'
>;

/** The worst first. */
export function concernsIn(home: About): Concern[] {
  return [
    ...auditConcerns(home),
    ...settlementConcerns(home),
    ...circuitConcerns(home),
    ...nodeConcerns(home),
    ...shortConcerns(home),
    ...billConcerns(home),
    ...webhookConcerns(home),
  ].sort((one, other) => Number(other.tone === 'bad') - Number(one.tone === 'bad'));
}

function auditConcerns({ audit }: About): Concern[] {
  if (audit === null || (audit.state !== 'broken' && audit.state !== 'failed')) return [];
  const link = { to: '/operator/ledger' } as const;
  return audit.state === 'broken'
    ? [
        {
          key: 'audit',
          tone: 'bad',
          title: 'The last audit found contradictions in the ledger',
          text: `${countOf(audit.violations, 'violation')} of its rules.`,
          link,
        },
      ]
    : [
        {
          key: 'audit',
          tone: 'warn',
          title: 'The last audit ended without a result',
          text: 'Run it again.',
          link,
        },
      ];
}

function settlementConcerns({ failed_settlements: { count, oldest_at: oldest } }: About): Concern[] {
  if (count === 0) return [];
  return [
    {
      key: 'settlements',
      tone: 'bad',
      title: countOf(count, 'failed settlement'),
      text: `The database rejected ${count === 1 ? 'it' : 'them'}${since(oldest)}. Nothing is held or charged meanwhile.`,
      link: { to: '/operator/ledger' },
    },
  ];
}

function circuitConcerns({ circuits }: About): Concern[] {
  return circuits.map(({ provider, model, state, nodes, failing_since: failingSince, until }) => ({
    key: `circuit ${provider} ${model}`,
    tone: state === 'open' ? 'bad' : 'warn',
    title: `${model} fails at ${provider}`,
    text:
      state === 'open'
        ? `Failing${since(failingSince)}. Not called on ${countOf(nodes, 'node')}${until === null ? '' : ` until ${formatTime(new Date(until), 'moment')}`}.`
        : `Half open on ${countOf(nodes, 'node')}, and no call has succeeded${since(failingSince)}.`,
    link: { to: '/operator/providers' },
  }));
}

function shortConcerns({ short_accounts: { count, data } }: About): Concern[] {
  const shown = data.map(({ account, refused, needed, available }) => ({
    key: `short ${account.id}`,
    tone: 'warn' as const,
    title: `The balance of ${account.name} is too low`,
    text: `${countOf(refused, 'request')} refused in 24 hours. ${needed === null ? '' : `The last one would hold ${formatMoney(needed)}, and `}${formatMoney(available)} is available.`,
    link: {
      to: '/operator/requests',
      search: { range: '24h', account: account.id, error_code: 'insufficient_balance' },
    } as const,
  }));
  const more = count - data.length;
  if (more <= 0) return shown;
  return [
    ...shown,
    {
      key: 'short',
      tone: 'warn',
      title: `${countOf(more, 'more account')} with too low a balance`,
      text: 'Those with the most refused requests are above.',
      link: {
        to: '/operator/requests',
        search: { range: '24h', status: 'refused', error_code: 'insufficient_balance' },
      },
    },
  ];
}

function nodeConcerns({
  nodes: { lost, price_versions: versions, catalog_errors: errors },
}: About): Concern[] {
  const link = { to: '/operator/nodes' } as const;
  return [
    ...errors.map(({ node, error }) => ({
      key: `catalogue ${node}`,
      tone: 'bad' as const,
      title: `${node} could not load the catalogue`,
      text: `It keeps using its current prices. ${error}`,
      link,
    })),
    ...(versions.length > 1
      ? [
          {
            key: 'versions',
            tone: 'warn' as const,
            title: 'Nodes use different price lists',
            text: `${versions.join(', ')}. That should last for seconds.`,
            link,
          },
        ]
      : []),
    ...(lost > 0
      ? [
          {
            key: 'lost',
            tone: 'warn' as const,
            title: `${countOf(lost, 'node')} lost in the last 24 hours`,
            text: 'They stopped without saying so. Others ended their requests.',
            link,
          },
        ]
      : []),
  ];
}

function billConcerns({ reconciliation }: About): Concern[] {
  return reconciliation.flatMap((bill) =>
    bill.days_outside === 0
      ? []
      : [
          {
            key: `bill ${bill.provider}`,
            tone: 'warn' as const,
            title: `The bill of ${bill.provider} differs`,
            text: `By more than the tolerance on ${countOfOutside(bill)}${bill.days_outside === 1 ? ':' : ', last on'} ${formatDay(bill.day)}.`,
            link: { to: '/operator/reconciliation' } as const,
          },
        ],
  );
}

/** Of the days that the provider can no longer correct. */
export function countOfOutside({
  days_outside: outside,
  days_compared: compared,
}: OperatorHome['reconciliation'][number]): string {
  return `${formatCount(outside)} of ${countOf(compared, 'final day')}`;
}

function webhookConcerns({ failing_webhooks: { count, data } }: About): Concern[] {
  const shown = data.map(({ account, host, failing_since: failingSince, is_disabled: isDisabled }, at) => ({
    key: `webhook ${at} ${host}`,
    tone: 'warn' as const,
    title: `The webhook of ${account?.name ?? 'the operator'} at ${host} ${isDisabled ? 'was disabled' : 'fails'}`,
    text: isDisabled
      ? 'Nothing is sent to it until someone enables it.'
      : `Nothing has reached it${since(failingSince)}.`,
    link: account === null ? ({ to: '/operator/webhooks' } as const) : accountLink(account.id),
  }));
  const more = count - data.length;
  if (more <= 0) return shown;
  return [
    ...shown,
    {
      key: 'webhooks',
      tone: 'warn',
      title: `${countOf(more, 'more webhook')} that ${more === 1 ? 'fails' : 'fail'}`,
      text: 'Those that have failed for the longest are above.',
      link: { to: '/operator/webhooks' },
    },
  ];
}

function countOf(count: number, what: string): string {
  return `${formatCount(count)} ${what}${count === 1 ? '' : 's'}`;
}

function since(time: string | null): string {
  return time === null ? '' : ` since ${formatTime(new Date(time), 'moment')}`;
}
