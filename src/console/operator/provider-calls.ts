/** How the calls to every provider ended in a range, and in the period before. */
import type { SQL } from 'bun';
import { providersQuery } from '../../rollups/attempts.ts';
import { readProgress } from '../../rollups/figures.ts';
import { before, inOneStep, type Progress, type Span, type Steps } from '../../rollups/range.ts';
import { type Found, type OperatorReader, operatorOnly, rowsForOperator } from '../access.ts';
import { inSnapshot } from '../figures-snapshot.ts';
import type { OperatorHome, ProviderCalls } from '../home-contract.ts';
import { isKept, knownFrom } from '../request-figures.ts';

type Row = ProviderCalls & Readonly<{ provider: string }>;

/** `span` has whole minutes or hours. */
export async function findProviderCalls(
  sql: SQL,
  reader: OperatorReader,
  span: Span,
): Promise<OperatorHome['providers']> {
  const earlier = inOneStep(before(span));
  const [rows, earlierRows] = await inSnapshot(sql, null, async (transaction) => {
    const progress = await readProgress(transaction, { fromMs: earlier.fromMs, toMs: span.toMs });
    const find = (steps: Steps) => findCalls(transaction, reader, steps, progress);
    const isKnown = isKept(earlier) && knownFrom(earlier, progress) === null;
    return [await find(inOneStep(span)), isKnown ? await find(earlier) : null] as const;
  });
  const known = new Map(earlierRows?.map(({ provider, ...calls }) => [provider, calls]));
  return rows
    .map((row) => ({
      ...row,
      before: earlierRows === null ? null : (known.get(row.provider) ?? noCalls),
    }))
    .sort((one, other) => failuresOf(other) - failuresOf(one) || (one.provider < other.provider ? -1 : 1));
}

const failuresOf = ({ failed, rejected }: ProviderCalls) => failed - rejected;

const noCalls: ProviderCalls = { succeeded: 0, failed: 0, rejected: 0, cancelled: 0 };

async function findCalls(sql: SQL, reader: OperatorReader, steps: Steps, progress: Progress): Promise<Row[]> {
  const rows = await sql<Found<Row, 'provider'>[]>`
    select provider, succeeded, failed, rejected, cancelled from ${operatorOnly(sql, reader)} as allowed
    left join lateral (${providersQuery(sql, steps, progress)}) as calls on true`;
  return rowsForOperator(rows, 'provider');
}
