/**
 * What one node tells the others of itself, with its heartbeat: circuits and the catalogue in force are its own, and the
 * operator wants to see those of all nodes at any of them. In the words of the database, where it is stored as JSON.
 */
import { z } from 'zod';
import type { FollowedCatalog } from './active-catalog.ts';
import { setbackKinds } from './findings.ts';
import type { GateStatus } from './gate.ts';

const reportSchema = z.object({
  circuits: z.array(
    z.object({
      /** The ID of the provider in the catalogue, and that of the model as customers know it. */
      provider: z.string(),
      model: z.string(),
      state: z.enum(['closed', 'open', 'half_open']),
      consecutive_failures: z.number(),
      until: z.string().nullable(),
      // Versions before did not tell these.
      accounts_shut: z.number().default(0),
      setback: z
        .object({ kind: z.enum(setbackKinds), upstream_status: z.number().nullable(), at: z.string() })
        .nullable()
        .default(null),
    }),
  ),
  price_version: z.string(),
  catalog_error: z.string().nullable(),
});

export type NodeReport = z.infer<typeof reportSchema>;

/** The clock of the gates runs evenly and means nothing to others; the other one tells the time. */
type Clocks = Readonly<{ gateNowMs: number; nowMs: number }>;

const maxProblems = 3;
const maxProblem = 500;

/** Of the gates only those that something is known of: on a good day the report is a few words. */
export function reportOf(
  catalog: Pick<FollowedCatalog, 'current' | 'status'>,
  clocks: Clocks = { gateNowMs: performance.now(), nowMs: Date.now() },
): NodeReport {
  const active = catalog.current();
  const circuits = [...active.candidates].flatMap(([model, candidates]) =>
    candidates.flatMap(({ connection, gate }) => {
      const status = gate.status(clocks.gateNowMs);
      return status === null ? [] : [circuitOf(connection.provider.id, model, status, clocks)];
    }),
  );
  const { lastError } = catalog.status();
  return {
    circuits,
    price_version: active.catalog.priceVersion,
    catalog_error: lastError === null ? null : summaryOf(lastError.problems),
  };
}

/** Null for what another version of the gateway may have written in a form of its own. */
export function readReport(stored: unknown): NodeReport | null {
  return reportSchema.safeParse(stored).data ?? null;
}

function circuitOf(
  provider: string,
  model: string,
  { state, consecutiveFailures, untilMs, accountsShut, setback }: GateStatus,
  { gateNowMs, nowMs }: Clocks,
): NodeReport['circuits'][number] {
  return {
    provider,
    model,
    state,
    consecutive_failures: consecutiveFailures,
    // Whole seconds: the two clocks differ a little from one look to the next, and that is no news.
    until:
      untilMs === null
        ? null
        : new Date(Math.round((nowMs + untilMs - gateNowMs) / 1000) * 1000).toISOString(),
    accounts_shut: accountsShut,
    setback: setback && {
      kind: setback.kind,
      upstream_status: setback.upstreamStatus,
      at: setback.at.toISOString(),
    },
  };
}

function summaryOf(problems: readonly string[]): string {
  const shown = problems.slice(0, maxProblems).map((problem) => problem.slice(0, maxProblem).toWellFormed());
  const rest = problems.length - shown.length;
  return rest > 0 ? `${shown.join('\n')}\nand ${rest} more` : shown.join('\n');
}
