import type { Handler } from '../http/context.ts';
import { descriptorProblem } from './descriptors.ts';

/** The process is alive. Dependencies are not checked: a restart would not bring back a lost database. */
export function reportHealth(): Response {
  return Response.json({ status: 'ok' });
}

/** What the database is like at the moment. The schema is unknown while the database is away. */
export type DatabaseState = Readonly<{
  database: 'ok' | 'away' | 'read-only' | 'in recovery';
  schema: 'ok' | 'older' | 'newer' | 'different' | 'unknown';
}>;

type Checks = Readonly<{
  isDraining: () => boolean;
  databaseState: () => Promise<DatabaseState>;
  /** Problems in words; null when there is none. */
  clockProblem: () => string | null;
  leaseProblem: () => string | null;
  spoolProblem: () => string | null;
  catalogProblem: () => string | null;
}>;

export function reportReadiness(checks: Checks): Handler {
  return async () => {
    const { reasons, found } = await checkReadiness(checks);
    const isReady = reasons.length === 0;
    const body = {
      status: isReady ? 'ready' : 'not ready',
      reasons,
      draining: checks.isDraining(),
      ...found,
    };
    return Response.json(body, { status: isReady ? 200 : 503 });
  };
}

const goodStates: ReadonlySet<string> = new Set(['ok', 'right', 'in force']);

/** Whether this node should get traffic, and every reason why not. */
export async function checkReadiness(checks: Checks) {
  // Nothing else matters any more, and a balancer should hear of it at once.
  if (checks.isDraining()) return { reasons: ['draining'], found: {} };
  const { database, schema } = await checks.databaseState();
  const found = {
    database,
    schema,
    clock: checks.clockProblem() ?? 'right',
    lease: checks.leaseProblem() ?? 'in force',
    catalogue: checks.catalogProblem() ?? 'ok',
    // Usage would be lost if the database went away now. A disk that becomes full later is no reason: there is room set aside.
    spool: checks.spoolProblem() ?? 'ok',
    descriptors: descriptorProblem() ?? 'ok',
  };
  const reasons = Object.entries(found).flatMap(([name, state]) =>
    goodStates.has(state) ? [] : [`${name}: ${state}`],
  );
  return { reasons, found };
}
