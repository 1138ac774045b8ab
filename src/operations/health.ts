import type { Handler } from '../http/context.ts';

/** The process is alive. Dependencies are not checked: a restart would not bring back a lost database. */
export function reportHealth(): Response {
  return Response.json({ status: 'ok' });
}

type Checks = Readonly<{
  isDraining: () => boolean;
  isDatabaseReachable: () => Promise<boolean>;
  /** How far off this node's clock is, in words; null when it is right. */
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
