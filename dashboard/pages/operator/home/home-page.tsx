/** The state of the gateway at a glance, for operators. */
import { keepPreviousData } from '@tanstack/react-query';
import type { HomeMoney, OperatorHome } from '../../../../src/console/home-contract.ts';
import { formatTotal, signOfMoney } from '../../../kit/amounts.ts';
import { Card } from '../../../kit/card.tsx';
import { Money } from '../../../kit/figures.tsx';
import { formatShare } from '../../../kit/format-figures.ts';
import { Page } from '../../../kit/page.tsx';
import { Stat, StatGroup } from '../../../kit/stat.tsx';
import { ErrorState } from '../../../kit/states.tsx';
import { RangePicker } from '../../home/range-picker.tsx';
import { RequestChart } from '../../home/request-chart.tsx';
import { operatorStats, requestStats } from '../../home/request-stats.tsx';
import { type HomeRange, useHomeView } from '../../home/view.ts';
import { useSeries } from '../../requests/queries.ts';
import { ScopeContext, useOperatorScope, useScope } from '../../requests/scope.ts';
import { useOperatorQuery } from '../operator-query.ts';
import { Checks } from './checks.tsx';
import { ConcernList } from './concern-list.tsx';
import { concernsIn } from './concerns.ts';
import { BelowCost, DryAccounts, ProviderTable, RefusalTable, WriteOffs } from './tables.tsx';

const refreshMs = 30_000;

export function OperatorHomePage() {
  return (
    <ScopeContext value={useOperatorScope()}>
      <Home />
    </ScopeContext>
  );
}

function Home() {
  const view = useHomeView(true);
  const scope = useScope();
  const { range } = view;
  const series = useSeries(view.view);
  const query = useOperatorQuery<OperatorHome>(['home'], {
    query: { range },
    refetchInterval: refreshMs,
    placeholderData: keepPreviousData,
  });
  const home = query.data;
  return (
    <Page
      title="Gateway"
      description="Over all accounts. Money is by whole days in UTC."
      actions={<RangePicker range={range} />}
    >
      <StatGroup>
        {moneyStats(home?.money, query.isError, range)}
        {requestStats(operatorStats, series, scope, range)}
      </StatGroup>
      {home === undefined && query.isError ? (
        <Card>
          <ErrorState error={query.error} onRetry={query.refetch} />
        </Card>
      ) : (
        <>
          {home !== undefined && <ConcernList concerns={concernsIn(home)} />}
          <RequestChart {...view} series={series} />
          {/* Each column has its own rows: a long list leaves no gap next to it. */}
          <div className="grid items-start gap-x-10 gap-y-8 lg:grid-cols-2">
            <div className="grid min-w-0 gap-y-8">
              <ProviderTable home={home} range={range} />
              <DryAccounts home={home} />
            </div>
            <div className="grid min-w-0 gap-y-8">
              <RefusalTable home={home} range={range} />
              <BelowCost home={home} />
              <WriteOffs home={home} />
              <Checks home={home} />
            </div>
          </div>
        </>
      )}
    </Page>
  );
}

const dayWords: Readonly<Record<HomeRange, string>> = {
  '24h': ' today',
  '7d': ', 7 days',
  '30d': ', 30 days',
};

const figures = [
  { name: 'revenue', label: 'Revenue' },
  { name: 'cost', label: 'Provider cost' },
  { name: 'margin', label: 'Margin' },
] as const;

/** By whole days in UTC, as under Margins. */
function moneyStats(money: OperatorHome['money'] | undefined, hasFailed: boolean, range: HomeRange) {
  const search = money && { range: 'custom', from: money.from, to: money.to };
  return figures.map(({ name, label }) => (
    <Stat
      key={name}
      label={`${label}${dayWords[range]}`}
      link={{ to: '/operator/margins', ...(search && { search }) }}
      value={money && <Money amount={money.now[name]} isTotal />}
      hasFailed={hasFailed}
      tone={name === 'margin' && money !== undefined && signOfMoney(money.now.margin) < 0 ? 'bad' : 'plain'}
      hint={money === undefined ? ' ' : hintOf(name, money, range)}
    />
  ));
}

/** Without a percentage: today is not over yet, and those days are. */
function hintOf(name: keyof HomeMoney, { now, before }: OperatorHome['money'], range: HomeRange): string {
  const compared = `${formatTotal(before[name])} ${wordsBefore[range]}`;
  const revenue = Number(now.revenue) - Number(now.unpriced_revenue);
  if (name === 'margin' && revenue > 0) {
    const share = Number(now.margin) / revenue;
    // Revenue and cost say from what; the tile has one line.
    const words = `${share < 0 ? '−' : ''}${formatShare(Math.abs(share))}, ${compared}`;
    return signOfMoney(now.unpriced_revenue) === 0
      ? words
      : `${words}, without ${formatTotal(now.unpriced_revenue)} whose cost is unknown`;
  }
  return compared;
}

const wordsBefore: Readonly<Record<HomeRange, string>> = {
  '24h': 'yesterday',
  '7d': 'in the 7 days before',
  '30d': 'in the 30 days before',
};
