import { useState } from 'react';
import { useAccount } from '../../api/session.ts';
import { Card } from '../../kit/card.tsx';
import { ErrorState } from '../../kit/error-state.tsx';
import { Page } from '../../kit/page.tsx';
import { SkeletonLines } from '../../kit/skeleton.tsx';
import { AttentionList } from './attention-list.tsx';
import { HealthFigures, MoneyFigures } from './figures.tsx';
import { FirstSteps } from './first-steps.tsx';
import { LatestGenerations } from './latest-generations.tsx';
import { useLatestGenerations, useOverview } from './queries.ts';
import { SpendChart } from './spend-chart.tsx';

export function OverviewPage() {
  const { name } = useAccount();
  const overview = useOverview();
  const latest = useLatestGenerations();
  const rows = latest.data?.data;
  const [wasNew, setWasNew] = useState(false);
  // Whoever comes to an empty account keeps the steps in sight, so that the last of them can be seen to happen.
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
  const isKnown = overview.data !== undefined && (rows !== undefined || latest.isError);
  return (
    <Page title="Overview" description={`How ${name} is doing.`}>
      <MoneyFigures overview={overview.data} />
      {/* What comes first below depends on both answers. Until they are there nothing stands there that would move. */}
      {isKnown ? (
        <>
          <AttentionList attention={overview.data.attention} />
          {wasNew && <FirstSteps first={rows?.at(-1)} />}
          {(!wasNew || (rows?.length ?? 0) > 0) && (
            <>
              <SpendChart days={overview.data.days} />
              <HealthFigures recent={overview.data.recent} />
              {rows === undefined ? (
                <Card title="Latest requests">
                  <ErrorState error={latest.error} onRetry={latest.refetch} />
                </Card>
              ) : (
                <LatestGenerations rows={rows} />
              )}
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
