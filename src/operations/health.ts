import type { Handler } from '../http/context.ts';
import { countDescriptors, readDescriptorLimit } from '../lib/descriptors.ts';

/** The process is alive. Dependencies are not checked: a restart would not bring back a lost database. */
export function reportHealth(): Response {
  return Response.json({ status: 'ok' });
}

/** The state of the database at the moment. The schema is unknown while the database is away. */
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
    // Usage would be lost if the database went away now. A disk that fills up later is no reason: room is set aside.
    spool: checks.spoolProblem() ?? 'ok',
    descriptors: descriptorProblem() ?? 'ok',
  };
  const reasons = Object.entries(found).flatMap(([name, state]) =>
    goodStates.has(state) ? [] : [`${name}: ${state}`],
  );
  return { reasons, found };
}

const minFreeShare = 0.05;
const minFree = 32;
/** Read once at the start. */
const softLimit = readDescriptorLimit();

/**
 * How many files and sockets this process may still open. When there are none left, new connections are not even
 * accepted, so a balancer has to know before that. In words; null while there are enough, and where the number is unknown.
 */
function descriptorProblem(): string | null {
  const used = softLimit === null ? null : countDescriptors();
  if (softLimit === null || used === null) return null;
  const isScarce = softLimit - used < Math.max(minFree, softLimit * minFreeShare);
  return isScarce ? `${used} of ${softLimit} in use` : null;
}
