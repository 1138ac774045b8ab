/** One provider: its calls over time, what went wrong by code and model, and its circuits. */
import { useParams } from '@tanstack/react-router';
import { ArrowUpRight } from 'lucide-react';
import type { Providers } from '../../../../src/console/operator-contract.ts';
import type { AttemptFigures, ProviderSeries } from '../../../../src/console/request-contract.ts';
import { useSearchParameters } from '../../../address.ts';
import { Badge } from '../../../kit/badge.tsx';
import { LinkButton } from '../../../kit/button.tsx';
import { Callout } from '../../../kit/callout.tsx';
import { Card } from '../../../kit/card.tsx';
import { Dash } from '../../../kit/figures.tsx';
import { formatCount, formatEstimate, formatShare } from '../../../kit/format-figures.ts';
import { Page } from '../../../kit/page.tsx';
import { Stat, StatGroup } from '../../../kit/stat.tsx';
import { Loaded } from '../../../kit/states.tsx';
import { requestsWith } from '../../../links.ts';
import { changeOf, formatChange, formatPoints, isMoreErrors, isSlower } from '../../requests/figures.ts';
import { RangePicker } from '../../requests/of-one-thing.tsx';
import { SuccessShare } from '../../requests/top-groups.tsx';
import { type Range, viewIn } from '../../requests/view.ts';
import { Circuits } from './circuits.tsx';
import { Failures } from './failures.tsx';
import { ProviderChart } from './provider-chart.tsx';
import { countCalls, successOfCalls } from './provider-figures.ts';
import { describeProvider } from './provider-state.ts';
import { Errors, ServedModels } from './provider-tables.tsx';
import { useProviderSeries, useProviders } from './queries.ts';

type Provider = Providers['data'][number];

export function OperatorProviderPage() {
  const { id = '' } = useParams({ strict: false });
  const { range: kind, from, to } = useSearchParameters();
  const { range } = viewIn({ range: kind, from, to }, true);
  const providers = useProviders();
  const provider = providers.data?.data.find((one) => one.id === id || one.name === id);
  // What has left the catalogue is still known by the name in its calls.
  const name = provider?.name ?? (providers.data === undefined ? undefined : id);
  const series = useProviderSeries(name, range);
  const title = name ?? id;
  return (
    <Page
      title={title}
      heading={
        <span className="inline-flex flex-wrap items-center gap-x-3 gap-y-1">
          {title}
          {provider?.is_configured && <State provider={provider} />}
        </span>
      }
      description={provider === undefined ? undefined : <About provider={provider} />}
      back={{ to: '/operator/providers', label: 'Providers' }}
      actions={
        <>
          <RangePicker view={{ range }} />
          <LinkButton {...requestsWith({ provider: title }, 'operator')} icon={ArrowUpRight}>
            Requests
          </LinkButton>
        </>
      }
    >
      {providers.data !== undefined && provider === undefined && (
        <Callout tone="warn" title="The catalogue has no such provider">
          What is known of its calls is shown below.
        </Callout>
      )}
      {provider?.is_configured === false && (
        <Callout tone="warn" title="It is not configured">
          Its API key is not set on this node, or cannot be used; its log says why
          {provider.key_variable !== null && (
            <>
              . It is read from <code className="font-mono text-xs">{provider.key_variable}</code>
            </>
          )}
          .
        </Callout>
      )}
      {/* Below, it says that they could not be loaded. */}
      {(series.data !== undefined || !series.isError) && <Totals series={series.data} />}
      <Loaded query={series} errorTitle="The calls could not be loaded">
        {(found) => <Calls series={found} provider={title} range={range} />}
      </Loaded>
      {provider !== undefined && <Circuits circuits={provider.circuits} />}
      <Failures
        failures={providers.data?.failures.filter((failure) => failure.provider === title)}
        description="Its failed attempts among the newest 50 of all providers."
        isOfOne
      />
    </Page>
  );
}

type CallsProps = Readonly<{ series: ProviderSeries; provider: string; range: Range }>;

function Calls({ series, provider, range }: CallsProps) {
  if (countCalls(series.totals) === 0)
    return (
      <Card title="Calls" isFlush>
        <p className="py-3 text-ink-faint">It was not called in this range.</p>
      </Card>
    );
  return (
    <>
      <ProviderChart series={series} provider={provider} />
      <Errors series={series} provider={provider} range={range} />
      <ServedModels series={series} provider={provider} range={range} />
    </>
  );
}

function State({ provider }: Readonly<{ provider: Provider }>) {
  const { tone, label } = describeProvider(provider);
  return (
    <Badge tone={tone} hasDot>
      {label}
    </Badge>
  );
}

function About({
  provider: { id, adapter, key_variable: variable, last_hour: hour },
}: Readonly<{ provider: Provider }>) {
  return (
    <>
      <code className="font-mono text-xs">{id}</code> · adapter{' '}
      <code className="font-mono text-xs">{adapter}</code>
      {variable !== null && (
        <>
          {' · key from '}
          <code className="font-mono text-xs">{variable}</code>
        </>
      )}{' '}
      · {hour.attempts === 1 ? '1 call' : `${formatCount(hour.attempts)} calls`} in the last hour,{' '}
      {formatCount(hour.failed)} failed
    </>
  );
}

function Totals({ series }: Readonly<{ series: ProviderSeries | undefined }>) {
  const totals = series?.totals;
  const before = series?.before ?? null;
  const success = totals && successOfCalls(totals);
  const successBefore = before && successOfCalls(before);
  const change = (of: (figures: AttemptFigures) => number | null, write: (value: number) => string) => {
    if (totals === undefined || before === null) return undefined;
    const [now, then] = [of(totals), of(before)];
    if (then === null) return undefined;
    const isWorse = write === formatEstimate && isSlower(now, then, [totals, before].map(countCalls));
    return changeFrom(formatChange(changeOf(now, then)), write(then), isWorse);
  };
  const timeOf = (ms: number | null | undefined) =>
    ms === undefined ? undefined : ms === null ? <Dash /> : formatEstimate(ms);
  return (
    <StatGroup>
      <Stat
        label="Calls"
        value={totals && formatCount(countCalls(totals))}
        hint={change(countCalls, formatCount)}
      />
      <Stat
        label="Success"
        value={success === undefined ? undefined : <SuccessShare share={success} />}
        hint={
          successBefore === null || success === undefined
            ? undefined
            : changeFrom(
                formatPoints(success, successBefore),
                formatShare(successBefore),
                isMoreErrors(errorsOf(success), errorsOf(successBefore)),
              )
        }
      />
      <Stat
        label="p50"
        value={timeOf(totals?.duration_ms_p50)}
        hint={change((figures) => figures.duration_ms_p50, formatEstimate)}
      />
      <Stat
        label="p95"
        value={timeOf(totals?.duration_ms_p95)}
        hint={change((figures) => figures.duration_ms_p95, formatEstimate)}
      />
    </StatGroup>
  );
}

/** In the words of the homes. */
function changeFrom(change: string | null, before: string, isWorse: boolean) {
  if (change === null) return undefined;
  return (
    <span title="In the period before">
      <span className={isWorse ? 'text-bad' : ''}>{change}</span> from {before}
    </span>
  );
}

function errorsOf(success: number | null): number | null {
  return success === null ? null : 1 - success;
}
