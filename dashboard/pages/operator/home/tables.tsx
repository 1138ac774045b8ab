/** The lists of the operator's home. */
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { OperatorHome, ProviderCalls } from '../../../../src/console/home-contract.ts';
import { Card } from '../../../kit/card.tsx';
import { classNames, nameLinkClass, textLinkClass } from '../../../kit/class-names.ts';
import { Dash, EstimatedDuration, Money, Time } from '../../../kit/figures.tsx';
import { formatCount, formatDay } from '../../../kit/format-figures.ts';
import { BreakableCode, type Column, moneyColumn, Table } from '../../../kit/table.tsx';
import { accountLink, type Destination, providerLink, requestLink } from '../../../links.ts';
import { describeRunway } from '../../home/runway.ts';
import { ErrorShare } from '../../home/top-table.tsx';
import { type HomeRange, inExplorer } from '../../home/view.ts';
import { changeOf, formatChange, formatPoints, isMoreErrors, isSlower } from '../../requests/figures.ts';
import { useScope } from '../../requests/scope.ts';
import { countCalls } from '../providers/provider-figures.ts';

/** Two tables share a line, so long names are cut off. */
const nameClass = classNames(
  nameLinkClass,
  'md:inline-block md:max-w-full md:truncate xl:max-w-60 md:align-bottom',
);

type Home = Readonly<{ home: OperatorHome | undefined }>;
type Provider = OperatorHome['providers'][number];

/** Failed, of all calls, as on the page of providers; null without any. */
export function failedShare({ succeeded, failed, rejected, cancelled }: ProviderCalls): number | null {
  const count = succeeded + failed + cancelled;
  return count === 0 ? null : (failed - rejected) / count;
}

export function ProviderTable({ home, range }: Home & Readonly<{ range: HomeRange }>) {
  const scope = useScope();
  const inRange = (provider: string): Destination => ({ ...providerLink(provider), search: { range } });
  const linkTo = (provider: string, chart: string) => inExplorer(scope, range, { provider, chart });
  const columns: readonly Column<Provider>[] = [
    {
      key: 'provider',
      header: 'Provider',
      isBare: true,
      cell: ({ provider }) => (
        <Link {...inRange(provider)} className={nameClass}>
          {provider}
        </Link>
      ),
    },
    {
      key: 'calls',
      header: 'Calls',
      align: 'right',
      cell: ({ succeeded, failed, cancelled }) => formatCount(succeeded + failed + cancelled),
    },
    {
      key: 'rate',
      header: <Head of="Errors" />,
      align: 'right',
      cell: (row) => {
        const [now, before] = [failedShare(row), row.before === null ? null : failedShare(row.before)];
        return (
          <Changed
            link={linkTo(row.provider, 'errors')}
            value={<ErrorShare rate={now} />}
            change={formatPoints(now, before)}
            isWorse={isMoreErrors(now, before)}
            className="md:max-xl:hidden xl:w-14"
          />
        );
      },
    },
    {
      key: 'p95',
      header: <Head of="p95" />,
      align: 'right',
      cell: ({ provider, duration_ms_p95: now, before, ...calls }) => (
        <Changed
          link={linkTo(provider, 'duration')}
          value={<EstimatedDuration ms={now} />}
          change={formatChange(changeOf(now, before?.duration_ms_p95))}
          isWorse={before !== null && isSlower(now, before.duration_ms_p95, [calls, before].map(countCalls))}
          className="md:w-10"
        />
      ),
    },
  ];
  return (
    <Card title="Providers" description="Every call, also those with a fallback" isFlush>
      <Table
        caption="Providers"
        columns={columns}
        rows={home?.providers}
        rowKey={({ provider }) => provider}
        expectedRows={3}
        empty={<p className="py-3 text-ink-faint">No provider was called in this range.</p>}
      />
    </Card>
  );
}

type ChangedProps = Readonly<{
  link: Destination;
  value: ReactNode;
  change: string | null;
  isWorse: boolean;
  className: string;
}>;

function Head({ of }: Readonly<{ of: string }>) {
  return (
    <>
      {of}
      <span className="max-xl:hidden">, change</span>
    </>
  );
}

/** A figure and how it changed, each in a column of its own. */
function Changed({ link, value, change, isWorse, className }: ChangedProps) {
  return (
    <span className="inline-flex items-baseline gap-1.5">
      <Link {...link} className="figures rounded hover:underline hover:underline-offset-2">
        {value}
      </Link>
      <span
        title="Against the period before"
        className={classNames('figures', isWorse ? 'text-bad' : 'text-ink-faint', className)}
      >
        {change ?? <Dash />}
      </span>
    </span>
  );
}

export function RefusalTable({ home, range }: Home & Readonly<{ range: HomeRange }>) {
  const scope = useScope();
  const columns: readonly Column<OperatorHome['refusals'][number]>[] = [
    {
      key: 'code',
      header: 'Error code',
      isBare: true,
      cell: ({ code }) => (
        <Link
          {...inExplorer(scope, range, { status: 'refused', error_code: code })}
          className={textLinkClass}
        >
          <BreakableCode>{code}</BreakableCode>
        </Link>
      ),
    },
    {
      key: 'count',
      header: 'Refused',
      align: 'right',
      width: 'w-24',
      cell: ({ code, count }) => (
        <Link
          {...inExplorer(scope, range, { status: 'refused', error_code: code })}
          className={classNames('figures', textLinkClass)}
        >
          {formatCount(count)}
          <span className="sr-only"> with {code}</span>
        </Link>
      ),
    },
  ];
  return (
    <Card title="Refusals" isFlush>
      <Table
        caption="Refusals"
        columns={columns}
        rows={home?.refusals}
        rowKey={({ code }) => code}
        expectedRows={3}
        empty={<p className="py-3 text-ink-faint">Nothing was refused in this range.</p>}
      />
    </Card>
  );
}

type DryAccount = OperatorHome['dry_accounts'][number];

const endTones = { plain: '', warn: 'text-warn', bad: 'text-bad' } as const;

const dryColumns: readonly Column<DryAccount>[] = [
  {
    key: 'account',
    header: 'Account',
    isBare: true,
    cell: ({ account }) => (
      <Link {...accountLink(account.id)} className={nameClass}>
        {account.name}
      </Link>
    ),
  },
  {
    key: 'end',
    header: 'Runs out',
    align: 'right',
    width: 'w-48',
    cell: (funds) => {
      const { words, detail, tone } = describeRunway(funds, new Date());
      return (
        <span title={detail} className={endTones[tone]}>
          {words}
        </span>
      );
    },
  },
  moneyColumn({
    key: 'available',
    header: 'Available',
    width: 'w-28',
    style: 'balance',
    amountOf: ({ available }) => available,
  }),
];

export function DryAccounts({ home }: Home) {
  return (
    <Card title="Accounts running dry" description="If they go on spending as in the last 7 days" isFlush>
      <Table
        caption="Accounts running dry"
        columns={dryColumns}
        rows={home?.dry_accounts}
        rowKey={({ account }) => account.id}
        expectedRows={3}
        empty={<p className="py-3 text-ink-faint">Every account in use lasts for more than 30 days.</p>}
      />
    </Card>
  );
}

type Loss = OperatorHome['money']['below_cost']['data'][number];

/** Who costs more than they pay. */
export function BelowCost({ home }: Home) {
  const inMargins = (search: Readonly<Record<string, string>>): Destination => ({
    to: '/operator/margins',
    search: { ...search, by: 'account', order: 'lowest_margin' },
  });
  const money = home?.money;
  const days = money === undefined ? {} : { range: 'custom', from: money.below_cost.from, to: money.to };
  const columns: readonly Column<Loss>[] = [
    {
      key: 'account',
      header: 'Account',
      isBare: true,
      cell: ({ account }) => (
        <Link {...accountLink(account.id)} className={nameClass}>
          {account.name}
        </Link>
      ),
    },
    moneyColumn({
      key: 'revenue',
      header: 'Revenue',
      width: 'w-24',
      style: 'total',
      amountOf: ({ revenue }) => revenue,
    }),
    {
      key: 'margin',
      header: 'Margin',
      align: 'right',
      width: 'w-24',
      cell: ({ account, margin }) => (
        <Link {...inMargins(days)} className="rounded text-bad hover:underline hover:underline-offset-2">
          <Money amount={margin} isTotal />
          <span className="sr-only"> with {account.name}</span>
        </Link>
      ),
    },
  ];
  return (
    <Card
      title="Customers below cost"
      description={money && `Charged less than they cost since ${formatDay(money.below_cost.from)}`}
      isFlush
    >
      <Table
        caption="Customers below cost"
        columns={columns}
        rows={money?.below_cost.data}
        rowKey={({ account }) => account.id}
        expectedRows={2}
        empty={<p className="py-3 text-ink-faint">None. Every customer paid for what they cost.</p>}
      />
    </Card>
  );
}

type WriteOff = OperatorHome['write_offs']['latest'][number];

const reasonNames = new Map([
  ['usage_missing', 'Usage missing'],
  ['insufficient_balance', 'Balance did not cover it'],
  ['interrupted', 'Interrupted'],
  ['implausible_usage', 'Implausible usage'],
]);

const nameOfReason = (reason: string) => reasonNames.get(reason) ?? reason;

const writeOffColumns: readonly Column<WriteOff>[] = [
  {
    key: 'reason',
    header: 'Newest',
    isBare: true,
    cell: ({ request_id: id, reason }) => (
      <Link {...requestLink(id, 'operator')} className={nameClass}>
        {nameOfReason(reason)}
      </Link>
    ),
  },
  {
    key: 'account',
    header: 'Account',
    cell: ({ account }) => (
      <Link
        {...accountLink(account.id)}
        className="rounded wrap-anywhere hover:underline hover:underline-offset-2"
      >
        {account.name}
      </Link>
    ),
  },
  {
    key: 'at',
    header: 'Time',
    align: 'right',
    width: 'w-32',
    isOptional: true,
    cell: ({ at }) => <Time at={at} style="distance" />,
  },
  moneyColumn({ key: 'amount', header: 'Amount', width: 'w-28', amountOf: ({ amount }) => amount }),
];

export function WriteOffs({ home }: Home) {
  const reasons = home?.write_offs.reasons ?? [];
  return (
    <Card title="Write-offs" description="Of requests in this range" isFlush>
      {reasons.length > 0 && (
        <dl className="flex flex-wrap gap-x-6 gap-y-1 py-2.5 text-xs">
          {reasons.map(({ reason, count, amount, unknown }) => (
            <div key={reason} className="flex items-baseline gap-1.5">
              <dt className="text-ink-faint">{nameOfReason(reason)}</dt>
              <dd className="figures">
                {formatCount(count)}, <Money amount={amount} isTotal />
                {unknown > 0 && <span className="text-ink-faint"> and {formatCount(unknown)} unknown</span>}
              </dd>
            </div>
          ))}
        </dl>
      )}
      <Table
        caption="Write-offs"
        columns={writeOffColumns}
        rows={home?.write_offs.latest}
        rowKey={({ request_id: id }) => id}
        expectedRows={2}
        empty={<p className="py-3 text-ink-faint">Nothing was written off.</p>}
      />
    </Card>
  );
}
