/**
 * What a node reports about itself with its heartbeat: circuits and the catalogue in use are local to a node, and the
 * operator wants to see those of all nodes on any of them. Field names are those of the JSON in the database.
 */
import { z } from 'zod';
import { setbackKinds } from '../providers/upstream.ts';
import type { FollowedCatalog } from './active-catalog.ts';
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
      // Older versions did not report these.
      failing_since: z.string().nullable().default(null),
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

/** The gates use a monotonic clock, which means nothing to other nodes; the other one is the wall clock. */
type Clocks = Readonly<{ gateNowMs: number; nowMs: number }>;

const maxProblems = 3;
const maxProblem = 500;

/** Lists only gates with something to report: on a good day the report is tiny. */
export function reportOf(
  catalog: Pick<FollowedCatalog, 'current' | 'status'>,
  clocks: Clocks = { gateNowMs: performance.now(), nowMs: Date.now() },
): NodeReport {
  const active = catalog.current();
  const circuits = [...active.candidates].flatMap(([model, candidates]) =>
    candidates.flatMap(({ connection, gate }) => {
      const status = gate.status(clocks.gateNowMs);
      if (status === null) return [];
      const circuit = circuitOf(connection.provider.id, model, status, clocks);
      return [circuitAt(circuit, clocks.nowMs)];
    }),
  );
  const { lastError } = catalog.status();
  return {
    circuits,
    price_version: active.catalog.priceVersion,
    catalog_error: lastError === null ? null : summaryOf(lastError.problems),
  };
}

/**
 * Null for a report that another version of the gateway wrote in another format. Circuits are read as they are now, because
 * time has passed since the report.
 */
export function readReport(stored: unknown, nowMs = Date.now()): NodeReport | null {
  const report = reportSchema.safeParse(stored).data;
  return report === undefined
    ? null
    : { ...report, circuits: report.circuits.map((circuit) => circuitAt(circuit, nowMs)) };
}

type ReportedCircuit = NodeReport['circuits'][number];

/**
 * A gate notices that a wait is over only at its next call, which may come hours later. Until then its circuit is not
 * shown as open: the next call goes through and decides, which is what half open means to a reader.
 */
function circuitAt(circuit: ReportedCircuit, nowMs: number): ReportedCircuit {
  if (circuit.until === null || Date.parse(circuit.until) > nowMs) return circuit;
  return { ...circuit, state: circuit.state === 'open' ? 'half_open' : circuit.state, until: null };
}

function circuitOf(
  provider: string,
  model: string,
  { state, consecutiveFailures, failingSince, untilMs, accountsShut, setback }: GateStatus,
  { gateNowMs, nowMs }: Clocks,
): ReportedCircuit {
  return {
    provider,
    model,
    state,
    consecutive_failures: consecutiveFailures,
    // Whole seconds: the two clocks drift a little between reports, which must not look like a change.
    until:
      untilMs === null
        ? null
        : new Date(Math.round((nowMs + untilMs - gateNowMs) / 1000) * 1000).toISOString(),
    failing_since: failingSince?.toISOString() ?? null,
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
