import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Attention } from '../../../src/console/contract.ts';
import type { RequestRow } from '../../../src/console/request-contract.ts';
import { useAccount } from '../../api/session.ts';
import { StatusBadge } from '../../kit/badge.tsx';
import { LinkButton } from '../../kit/button.tsx';
import { Callout } from '../../kit/callout.tsx';
import { Card } from '../../kit/card.tsx';
import { Duration, Time } from '../../kit/figures.tsx';
import { ModelMark } from '../../kit/model-mark.tsx';
import { Page } from '../../kit/page.tsx';
import { StatGroup } from '../../kit/stat.tsx';
import { ErrorState, SkeletonLines } from '../../kit/states.tsx';
import { type Column, moneyColumn, Table } from '../../kit/table.tsx';
import { VerifyEmailNote } from '../../layout/verify-email-note.tsx';
import { keyLink } from '../../links.ts';
import { RangePicker } from '../home/range-picker.tsx';
import { RequestChart } from '../home/request-chart.tsx';
import { customerStats, requestStats } from '../home/request-stats.tsx';
import { useHomeView } from '../home/view.ts';
import { useSeries } from '../requests/queries.ts';
import { ScopeContext, useAccountScope, useScope } from '../requests/scope.ts';
import { describeAttention } from './describe-attention.ts';
import { AvailableStat } from './figures.tsx';
import { FirstSteps } from './first-steps.tsx';
import { Problems } from './problems.tsx';
import { useLatestRequests, useOverview } from './queries.ts';
import { TopKeys, TopModels } from './top-lists.tsx';

export function OverviewPage() {
  return (
    <ScopeContext value={useAccountScope()}>
      <Home />
    </ScopeContext>
  );
}

function Home() {
  const { name } = useAccount();
  const overview = useOverview();
  const latest = useLatestRequests();
  const home = useHomeView(false);
  const series = useSeries(home.view);
  const scope = useScope();
  const rows = latest.data?.data;
  const [wasNew, setWasNew] = useState(false);
  // The steps stay visible after the first request, so that its arrival can be seen.
  if (!wasNew && rows?.length === 0) setWasNew(true);
  if (overview.data === undefined && overview.isError) {
    return (
      <Page title="Overview" description={name}>
        <Card>
          <ErrorState error={overview.error} onRetry={overview.refetch} />
        </Card>
      </Page>
    );
  }
  const isNew = wasNew && (rows?.length ?? 0) === 0;
  const isKnown = overview.data !== undefined && (rows !== undefined || latest.isError);
  return (
    <Page title="Overview" description={name} actions={<RangePicker range={home.range} />}>
      <StatGroup>
        <AvailableStat overview={overview.data} />
        {requestStats(customerStats, series, scope, home.range)}
      </StatGroup>
      {/* The layout below depends on both responses, so it is shown only once both are known. */}
      {isKnown ? (
        <>
          {!wasNew && <VerifyEmailNote />}
          <AttentionList
            attention={isNew ? withoutEmpty(overview.data.attention) : overview.data.attention}
          />
          {wasNew && <FirstSteps overview={overview.data} first={rows?.at(-1)} />}
          {!isNew && (
            <>
              <RequestChart {...home} series={series} />
              <Problems {...home} />
              <div className="grid gap-x-10 gap-y-8 lg:grid-cols-2">
                <TopKeys {...home} />
                <TopModels {...home} />
              </div>
              {/* A phone has no room for them. */}
              <div className="max-sm:hidden">
                {rows === undefined ? (
                  <Card title="Latest requests">
                    <ErrorState error={latest.error} onRetry={latest.refetch} />
                  </Card>
                ) : (
                  <LatestRequests rows={rows} />
                )}
              </div>
            </>
          )}
        </>
      ) : (
        <Card>
          <SkeletonLines count={8} />
        </Card>
      )}
    </Page>
  );
}

/** A new account has not used up anything: its first steps say how to get credit. */
function withoutEmpty(attention: readonly Attention[]): readonly Attention[] {
  return attention.filter(({ kind }) => kind !== 'balance_empty');
}

function AttentionList({ attention }: Readonly<{ attention: readonly Attention[] }>) {
  if (attention.length === 0) return null;
  const notices = attention
    .map(describeAttention)
    .toSorted((left, right) => Number(right.tone === 'bad') - Number(left.tone === 'bad'));
  return (
    <section aria-labelledby="attention">
      <h2 id="attention" className="mb-3 font-semibold">
        Needs attention
      </h2>
      <ul className="space-y-2">
        {notices.map(({ key, tone, title, text, link }) => (
          <li key={key}>
            <Callout
              tone={tone}
              title={title}
              actions={
                <LinkButton to={link.to} size="small">
                  {link.label}
                </LinkButton>
              }
            >
              {text}
            </Callout>
          </li>
        ))}
      </ul>
    </section>
  );
}

const columns: readonly Column<RequestRow>[] = [
  {
    key: 'model',
    header: 'Model',
    isBare: true,
    cell: ({ model }) => (
      <>
        {model !== null && <ModelMark model={model} />}
        {model}
      </>
    ),
  },
  { key: 'status', header: 'Status', width: 'w-32', cell: ({ status }) => <StatusBadge status={status} /> },
  {
    key: 'key',
    header: 'Key',
    width: 'w-40',
    isOptional: true,
    cell: ({ key }) => (
      <Link
        {...keyLink(key.id)}
        className="rounded hover:underline hover:underline-offset-2 md:inline-block md:max-w-36 md:truncate md:align-bottom"
      >
        {key.name}
      </Link>
    ),
  },
  moneyColumn({ key: 'cost', header: 'Cost', width: 'w-36', amountOf: ({ cost }) => cost }),
  {
    key: 'latency',
    header: 'Duration',
    align: 'right',
    width: 'w-28',
    cell: ({ status, duration_ms: durationMs }) => (
      <Duration ms={status === 'in_progress' ? null : durationMs} />
    ),
  },
  {
    key: 'time',
    header: 'Time',
    align: 'right',
    width: 'w-40',
    cell: ({ at }) => <Time at={at} style="distance" />,
  },
];

function LatestRequests({ rows }: Readonly<{ rows: readonly RequestRow[] }>) {
  return (
    <Card
      title="Latest requests"
      isFlush
      actions={
        <LinkButton to="/requests" size="small">
          View all
        </LinkButton>
      }
    >
      <Table
        caption="Latest requests"
        columns={columns}
        rows={rows}
        rowKey={({ id }) => id}
        rowLink={({ id }) => ({ to: '/requests/$id', params: { id } })}
      />
    </Card>
  );
}
