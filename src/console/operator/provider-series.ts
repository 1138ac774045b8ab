/** The calls to a provider over time. */
import type { SQL } from 'bun';
import { ApiError } from '../../errors.ts';
import { lookUp } from '../../http/lookup.ts';
import { readQuery } from '../../http/query.ts';
import {
  type AttemptRow,
  type AttemptFigures as Attempts,
  addAttempts,
  attemptsFrom,
  attemptsQuery,
  noAttempts,
  rejection,
} from '../../rollups/attempts.ts';
import { percentileMs } from '../../rollups/buckets.ts';
import { readProgress } from '../../rollups/figures.ts';
import {
  before,
  inOneStep,
  isKept,
  knownFrom,
  type Progress,
  type Span,
  type Steps,
  stepCount,
  stepsOf,
  timeOf,
} from '../../rollups/range.ts';
import { type Found, type OperatorReader, operatorOnly, rowsForOperator } from '../access.ts';
import { inSnapshot } from '../figures-snapshot.ts';
import type { ConsoleHandler, Routes } from '../guard.ts';
import type { AttemptFigures, ProviderSeries } from '../request-contract.ts';
import { parseSpan } from '../request-filter.ts';

const maxNameLength = 200;

export function providerSeriesPage({ reads }: Readonly<{ reads: () => SQL }>): Routes<ConsoleHandler> {
  return {
    '/providers/:provider/series': {
      GET: async (request, { signedIn, params }) => {
        const span = parseSpan(readQuery(request.url, ['from', 'to']), Date.now());
        const provider = params.provider ?? '';
        if (provider.includes('\0') || provider.length > maxNameLength) throw new ApiError('not_found');
        const series = await lookUp('usage_lookup_failed', () =>
          findProviderSeries(reads(), signedIn, provider, span),
        );
        return Response.json(series satisfies ProviderSeries);
      },
    },
  };
}

export async function findProviderSeries(
  sql: SQL,
  reader: OperatorReader,
  provider: string,
  span: Span,
): Promise<ProviderSeries> {
  const steps = stepsOf(span, Date.now());
  const earlier = inOneStep(before(steps));
  const [rows, earlierRows, countedFrom] = await inSnapshot(sql, null, async (transaction) => {
    const progress = await readProgress(transaction, { fromMs: earlier.fromMs, toMs: steps.toMs });
    const find = (of: Steps) => findAttempts(transaction, reader, provider, of, progress);
    const isKnown = isKept(earlier, Date.now()) && knownFrom(earlier, progress) === null;
    return [await find(steps), isKnown ? await find(earlier) : null, knownFrom(steps, progress)] as const;
  });
  const byStep = Map.groupBy(rows, ({ step }) => step);
  return {
    from: timeOf(steps.fromMs),
    to: timeOf(steps.toMs),
    step_seconds: steps.stepMs / 1000,
    points: Array.from({ length: stepCount(steps) }, (_, step) => ({
      at: timeOf(steps.fromMs + step * steps.stepMs),
      ...present(byStep.get(step) ?? []),
    })),
    totals: present(rows),
    before: earlierRows === null ? null : present(earlierRows),
    errors: errorsIn(rows, stepCount(steps)),
    models: [...Map.groupBy(rows, ({ model }) => model)]
      .map(([model, own]) => ({ model, ...present(own) }))
      .sort((one, other) => countOf(other) - countOf(one)),
    counted_from: countedFrom === null ? null : timeOf(countedFrom),
  };
}

async function findAttempts(
  sql: SQL,
  reader: OperatorReader,
  provider: string,
  steps: Steps,
  progress: Progress,
): Promise<AttemptRow[]> {
  const rows = await sql<Found<AttemptRow, 'step'>[]>`
    select figures.* from ${operatorOnly(sql, reader)} as allowed
    left join lateral (${attemptsQuery(sql, provider, steps, progress)}) as figures on true`;
  return rowsForOperator(rows, 'step');
}

function sumOf(rows: readonly AttemptRow[]): Attempts {
  return rows.map(attemptsFrom).reduce(addAttempts, noAttempts);
}

function errorsIn(rows: readonly AttemptRow[], count: number): ProviderSeries['errors'] {
  return [...Map.groupBy(rows, ({ error_code }) => error_code)]
    .map(([code, own]) => ({ code, failed: failedIn(own), points: failedBySteps(own, count) }))
    .filter(({ failed }) => failed > 0)
    .sort((one, other) => other.failed - one.failed);
}

function failedIn(rows: readonly AttemptRow[]): number {
  return rows.reduce((sum, { failed }) => sum + failed, 0);
}

function failedBySteps(rows: readonly AttemptRow[], count: number): number[] {
  const byStep = Map.groupBy(rows, ({ step }) => step);
  return Array.from({ length: count }, (_, step) => failedIn(byStep.get(step) ?? []));
}

function countOf({ succeeded, failed, cancelled }: AttemptFigures): number {
  return succeeded + failed + cancelled;
}

function present(rows: readonly AttemptRow[]): AttemptFigures {
  const { succeeded, failed, cancelled, durations } = sumOf(rows);
  return {
    succeeded,
    failed,
    rejected: failedIn(rows.filter(({ error_code }) => error_code === rejection)),
    cancelled,
    duration_ms_p50: percentileMs(durations, 0.5),
    duration_ms_p95: percentileMs(durations, 0.95),
  };
}
