/** The figures of a range, each with its change against the period before and its view in the explorer. */
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { RequestFigures, RequestSeries } from '../../../src/console/request-contract.ts';
import { formatTotal } from '../../kit/amounts.ts';
import { Dash, EstimatedDuration, Money } from '../../kit/figures.tsx';
import { formatCount, formatEstimate, formatShare } from '../../kit/format-figures.ts';
import { Stat } from '../../kit/stat.tsx';
import {
  changeOf,
  countRequests,
  countTimed,
  errorRateOf,
  formatChange,
  formatPoints,
  isMoreErrors,
  isSlower,
  toneOfErrors,
} from '../requests/figures.ts';
import type { Scope } from '../requests/scope.ts';
import { type HomeRange, inExplorer } from './view.ts';

type Compared = Readonly<{
  key: string;
  label: string;
  /** Which chart of the explorer shows it. */
  chart: 'volume' | 'errors' | 'duration' | 'cost';
  valueOf: (figures: RequestFigures) => ReactNode;
  /** In few words, for the period before; null where there is nothing to compare with. */
  wordsOf: (figures: RequestFigures) => string | null;
  changeFrom: (now: RequestFigures, before: RequestFigures) => string | null;
  isWorse?: (now: RequestFigures, before: RequestFigures) => boolean;
}>;

const requests: Compared = {
  key: 'requests',
  label: 'Requests',
  chart: 'volume',
  valueOf: (figures) => formatCount(countRequests(figures)),
  wordsOf: (figures) => formatCount(countRequests(figures)),
  changeFrom: (now, before) => formatChange(changeOf(countRequests(now), countRequests(before))),
};

const errorRate: Compared = {
  key: 'errors',
  label: 'Error rate',
  chart: 'errors',
  valueOf: (figures) => shareOr(errorRateOf(figures), <Dash />),
  wordsOf: (figures) => shareOr(errorRateOf(figures), null),
  changeFrom: (now, before) => formatPoints(errorRateOf(now), errorRateOf(before)),
  isWorse: (now, before) => isMoreErrors(errorRateOf(now), errorRateOf(before)),
};

const p95: Compared = {
  key: 'p95',
  label: 'p95 duration',
  chart: 'duration',
  valueOf: ({ duration_ms_p95: ms }) => <EstimatedDuration ms={ms} />,
  wordsOf: ({ duration_ms_p95: ms }) => (ms === null ? null : formatEstimate(ms)),
  changeFrom: (now, before) => formatChange(changeOf(now.duration_ms_p95, before.duration_ms_p95)),
  isWorse: (now, before) =>
    isSlower(now.duration_ms_p95, before.duration_ms_p95, [countTimed(now), countTimed(before)]),
};

const spend: Compared = {
  key: 'spend',
  label: 'Spend',
  chart: 'cost',
  valueOf: ({ cost }) => <Money amount={cost} isTotal />,
  wordsOf: ({ cost }) => formatTotal(cost),
  changeFrom: (now, before) => formatChange(changeOf(Number(now.cost), Number(before.cost))),
};

function shareOr<Otherwise>(share: number | null, otherwise: Otherwise): string | Otherwise {
  return share === null ? otherwise : formatShare(share);
}

export const customerStats = [requests, errorRate, p95, spend];
/** Operators have revenue and cost instead of spend. */
export const operatorStats = [requests, errorRate, p95];

/** As a list, for a StatGroup counts them. */
export function requestStats(
  compared: readonly Compared[],
  { data: series, isError: hasFailed }: Pick<UseQueryResult<RequestSeries>, 'data' | 'isError'>,
  scope: Scope,
  range: HomeRange,
) {
  return compared.map((one) => (
    <Stat
      key={one.key}
      label={one.label}
      link={inExplorer(scope, range, one.chart === 'volume' ? {} : { chart: one.chart })}
      value={series && one.valueOf(series.totals)}
      hasFailed={hasFailed}
      tone={one === errorRate && series !== undefined ? toneOfErrors(errorRateOf(series.totals)) : 'plain'}
      hint={series === undefined ? ' ' : hintOf(one, series)}
    />
  ));
}

function hintOf({ wordsOf, changeFrom, isWorse }: Compared, { totals, before }: RequestSeries): ReactNode {
  if (before === null && countRequests(totals) === 0) return ' ';
  const words = before === null ? null : wordsOf(before);
  if (before === null || words === null) return 'Nothing to compare';
  const change = changeFrom(totals, before);
  if (change === null) return `${words} in the period before`;
  return <ChangeFrom change={change} words={words} isWorse={isWorse?.(totals, before) ?? false} />;
}

function ChangeFrom({
  change,
  words,
  isWorse,
}: Readonly<{ change: string; words: string; isWorse: boolean }>) {
  return (
    <>
      <span className={isWorse ? 'text-bad' : ''}>{change}</span> from {words}
    </>
  );
}
