import { useSearch } from '@tanstack/react-router';
import { ChartColumn } from 'lucide-react';
import { useState } from 'react';
import type { Usage } from '../../../src/console/contract.ts';
import { LinkButton } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { EmptyState } from '../../kit/empty-state.tsx';
import { ErrorState } from '../../kit/error-state.tsx';
import { formatCount } from '../../kit/format-figures.ts';
import { Money } from '../../kit/money.tsx';
import { Page } from '../../kit/page.tsx';
import { Stat, StatGroup } from '../../kit/stat.tsx';
import { useCsvAddress, useUsage } from './queries.ts';
import { dayOf, rangeIn } from './range.ts';
import { RangePicker } from './range-picker.tsx';
import { UsageChart } from './usage-chart.tsx';
import { UsageTable } from './usage-table.tsx';

export function UsagePage() {
  const [today] = useState(() => dayOf(new Date()));
  const range = rangeIn(useSearch({ strict: false }), today);
  const query = useUsage(range);
  const csvAddress = useCsvAddress(range);
  const usage = query.data;
  const hasFailed = usage === undefined && query.isError;
  return (
    <Page title="Usage" description="What was used and what it cost, by model, key and day.">
      <RangePicker range={range} />
      {hasFailed ? (
        <Card>
          <ErrorState error={query.error} onRetry={query.refetch} />
        </Card>
      ) : (
        <>
          <Totals totals={usage?.totals} />
          {usage?.rows.length === 0 ? (
            <NoUsage />
          ) : (
            <>
              <UsageChart usage={usage} />
              <UsageTable usage={usage} csvAddress={csvAddress} isDimmed={query.isPlaceholderData} />
            </>
          )}
        </>
      )}
    </Page>
  );
}

function Totals({ totals }: Readonly<{ totals: Usage['totals'] | undefined }>) {
  return (
    <StatGroup>
      <Stat label="Cost" value={totals && <Money amount={totals.cost} />} />
      <Stat label="Requests" value={totals && formatCount(totals.requests)} />
      <Stat label="Input tokens" value={totals && formatCount(totals.input_tokens)} />
      <Stat label="Output tokens" value={totals && formatCount(totals.output_tokens)} />
      <Stat label="Images" value={totals && formatCount(totals.images)} />
    </StatGroup>
  );
}

function NoUsage() {
  return (
    <Card>
      <EmptyState
        icon={ChartColumn}
        title="Nothing was used on these days"
        action={<LinkButton to="/generations">See all requests</LinkButton>}
      >
        Choose other days, or send a request: it counts here as soon as it has been charged.
      </EmptyState>
    </Card>
  );
}
