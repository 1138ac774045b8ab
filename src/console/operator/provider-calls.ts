/** How the calls to every provider ended in a range, how long they took, and both in the period before. */
import type { SQL } from 'bun';
import { providersQuery } from '../../rollups/attempts.ts';
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
} from '../../rollups/range.ts';
import { type Found, type OperatorReader, operatorOnly, rowsForOperator } from '../access.ts';
import type { OperatorHome, ProviderCalls } from '../home-contract.ts';

type Row = ProviderCalls & Readonly<{ provider: string }>;

/** `span` has whole minutes or hours. All is read from one snapshot. */
export async function findProviderCalls(
  snapshot: SQL,
  reader: OperatorReader,
  span: Span,
): Promise<OperatorHome['providers']> {
  const earlier = inOneStep(before(span));
  const progress = await readProgress(snapshot, { fromMs: earlier.fromMs, toMs: span.toMs });
  const find = (steps: Steps) => findCalls(snapshot, reader, steps, progress);
  const rows = await find(inOneStep(span));
  const isKnown = isKept(earlier, Date.now()) && knownFrom(earlier, progress) === null;
  const earlierRows = isKnown ? await find(earlier) : null;
  const known = new Map(earlierRows?.map(({ provider, ...calls }) => [provider, calls]));
  return rows
    .map((row) => ({
      ...row,
      before: earlierRows === null ? null : (known.get(row.provider) ?? noCalls),
    }))
    .sort((one, other) => failuresOf(other) - failuresOf(one) || (one.provider < other.provider ? -1 : 1));
}

function failuresOf({ failed, rejected }: ProviderCalls): number {
  return failed - rejected;
}

const noCalls: ProviderCalls = { succeeded: 0, failed: 0, rejected: 0, cancelled: 0, duration_ms_p95: null };

type Counted = Omit<Row, 'duration_ms_p95'> & Readonly<{ durations: (number | null)[] }>;

/** Of each provider in a range, by the name that attempts are recorded under. */
export async function findCalls(
  sql: SQL,
  reader: OperatorReader,
  steps: Steps,
  progress: Progress,
): Promise<Row[]> {
  const rows = await sql<Found<Counted, 'provider'>[]>`
    select provider, succeeded, failed, rejected, cancelled, durations from ${operatorOnly(sql, reader)} as allowed
    left join lateral (${providersQuery(sql, steps, progress)}) as calls on true`;
  return rowsForOperator(rows, 'provider').map(({ durations, ...calls }) => {
    const counts = durations.map((count) => count ?? 0);
    return { ...calls, duration_ms_p95: percentileMs(counts, 0.95) };
  });
}
