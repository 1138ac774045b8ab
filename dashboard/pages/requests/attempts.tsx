/** The attempts of a request as bars on a time axis. To a screen reader they are an ordered list of sentences. */
import { Link } from '@tanstack/react-router';
import type { GenerationDetail } from '../../../src/console/contract.ts';
import { StatusBadge } from '../../kit/badge.tsx';
import { Card } from '../../kit/card.tsx';
import { marksOf } from '../../kit/chart-scale.ts';
import { classNames, textLinkClass } from '../../kit/class-names.ts';
import { Duration } from '../../kit/figures.tsx';
import { formatDuration } from '../../kit/format-figures.ts';
import { providerLink } from '../../links.ts';
import { explainAttempt } from './explain.ts';
import { useScope } from './scope.ts';

const colours: Readonly<Record<string, string>> = {
  in_progress: 'bg-accent animate-breathe',
  succeeded: 'bg-edge',
  failed: 'bg-bad-solid',
  cancelled: 'bg-edge/40',
};

export function Attempts({ generation }: Readonly<{ generation: GenerationDetail }>) {
  const { bars, marksMs } = timelineOf(generation);
  return (
    <Card
      title="Attempts"
      description={
        bars.length === 0
          ? undefined
          : bars.length > 1
            ? 'Providers were tried in order until one succeeded or none was left'
            : 'Which provider was called, and how long it took'
      }
    >
      {bars.length === 0 ? (
        <p className="text-ink-soft">No provider has been called.</p>
      ) : (
        <>
          <ol className="space-y-4">
            {bars.map((bar) => (
              <AttemptLine key={bar.attempt.index} bar={bar} />
            ))}
          </ol>
          <Axis marksMs={marksMs} />
        </>
      )}
    </Card>
  );
}

function AttemptLine({ bar }: Readonly<{ bar: Bar }>) {
  const { attempt, startedAfterMs, durationMs, start, length } = bar;
  const { reader } = useScope();
  return (
    <li className="sm:grid sm:grid-cols-[11rem_minmax(0,1fr)] sm:gap-x-4">
      <p className="flex items-center justify-between gap-2 sm:block">
        <Link
          {...providerLink(attempt.provider, reader)}
          className={`${textLinkClass} font-medium wrap-anywhere`}
        >
          {attempt.provider}
        </Link>
        <span className="sm:mt-1 sm:block">
          <StatusBadge status={attempt.status} />
        </span>
      </p>
      <div className="min-w-0 max-sm:mt-1.5">
        <div aria-hidden className="relative my-1 h-3 rounded-xs bg-sunken">
          <span
            style={{ left: `${start * 100}%`, width: `${length * 100}%` }}
            className={classNames(
              'absolute inset-y-0 min-w-0.5 rounded-xs',
              colours[attempt.status] ?? 'bg-edge',
            )}
          />
        </div>
        <p className="text-[0.8125rem] text-ink-soft">
          <Duration ms={durationMs} />
          {attempt.status === 'in_progress' && ' so far'}, started{' '}
          {startedAfterMs < 1 ? 'immediately' : `after ${formatDuration(startedAfterMs)}`}
          {attempt.upstream_status !== null && `, HTTP status ${attempt.upstream_status}`}.
          {attempt.error !== null && (
            <>
              {' '}
              <span className="text-bad">{explainAttempt(attempt.error)}</span>{' '}
              <code className="font-mono text-xs text-ink-faint wrap-anywhere">{attempt.error}</code>
            </>
          )}
        </p>
      </div>
    </li>
  );
}

function Axis({ marksMs }: Readonly<{ marksMs: readonly number[] }>) {
  return (
    <div
      aria-hidden
      className="figures mt-3 flex justify-between border-t border-line pt-1 text-2xs text-ink-faint sm:ml-48"
    >
      {marksMs.map((markMs) => (
        <span key={markMs}>{formatMark(markMs)}</span>
      ))}
    </div>
  );
}

function formatMark(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  return ms < 60_000 ? `${ms / 1_000} s` : formatDuration(ms);
}

type Attempt = GenerationDetail['attempts'][number];

export type Bar = Readonly<{
  attempt: Attempt;
  startedAfterMs: number;
  /** Until now, for one in progress. */
  durationMs: number;
  /** As a fraction of the axis. */
  start: number;
  length: number;
}>;

type Timeline = Readonly<{ bars: readonly Bar[]; marksMs: readonly number[] }>;

/** The time axis starts when the request arrived. */
export function timelineOf({
  created_at: createdAt,
  latency_ms: latencyMs,
  attempts,
}: Pick<GenerationDetail, 'created_at' | 'latency_ms' | 'attempts'>): Timeline {
  const startMs = Date.parse(createdAt);
  const spans = attempts.map((attempt) => {
    // The clocks of two machines may differ slightly; nothing starts before the request did.
    const startedAfterMs = Math.max(0, Date.parse(attempt.started_at) - startMs);
    const durationMs = Math.max(0, attempt.latency_ms ?? latencyMs - startedAfterMs);
    return { attempt, startedAfterMs, durationMs };
  });
  const marksMs = marksOf(
    Math.max(1, latencyMs, ...spans.map((span) => span.startedAfterMs + span.durationMs)),
    true,
  );
  const axisMs = marksMs.at(-1) ?? 1;
  return {
    marksMs,
    bars: spans.map((span) => ({
      ...span,
      start: span.startedAfterMs / axisMs,
      length: span.durationMs / axisMs,
    })),
  };
}
