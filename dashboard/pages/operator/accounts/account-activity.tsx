/** What happened in an account: its requests in figures and over time, and its problems by error code. */
import { StatGroup } from '../../../kit/stat.tsx';
import { RangePicker } from '../../home/range-picker.tsx';
import { RequestChart } from '../../home/request-chart.tsx';
import { customerStats, requestStats } from '../../home/request-stats.tsx';
import { useHomeView } from '../../home/view.ts';
import { Problems } from '../../overview/problems.tsx';
import { useSeries } from '../../requests/queries.ts';
import { ScopeContext, useScope, useScopeOfAccount } from '../../requests/scope.ts';

/** What customers ask about is rarely of today alone. */
const usual = '7d';

export function AccountActivity({ accountId }: Readonly<{ accountId: string }>) {
  return (
    <ScopeContext value={useScopeOfAccount(accountId)}>
      <Activity />
    </ScopeContext>
  );
}

function Activity() {
  const home = useHomeView(false, usual);
  const series = useSeries(home.view);
  return (
    <>
      <Problems {...home} actions={<RangePicker range={home.range} usual={usual} />} />
      <StatGroup>{requestStats(customerStats, series, useScope(), home.range)}</StatGroup>
      <RequestChart {...home} series={series} />
    </>
  );
}
