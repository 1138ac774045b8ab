import type { Handler } from '../http/context.ts';

/** The process is alive. What it depends on is not checked, so that losing the database does not get it restarted. */
export function reportHealth(): Response {
  return Response.json({ status: 'ok' });
}

type Checks = Readonly<{
  isDraining: () => boolean;
  isDatabaseReachable: () => Promise<boolean>;
  /** How far off this node's clock is, as a sentence; null when it is right. */
  clockProblem: () => string | null;
}>;

/** Whether this node should get traffic. */
export function reportReadiness({ isDraining, isDatabaseReachable, clockProblem }: Checks): Handler {
  return async () => {
    const database = await isDatabaseReachable();
    const problem = clockProblem();
    const checks = { draining: isDraining(), database, clock: problem ?? 'right' };
    const isReady = database && !checks.draining && problem === null;
    return Response.json(
      { status: isReady ? 'ready' : 'not ready', ...checks },
      { status: isReady ? 200 : 503 },
    );
  };
}
