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
    // Nothing else matters any more, and a balancer should hear of it at once.
    if (isDraining()) return Response.json({ status: 'not ready', draining: true }, { status: 503 });
    const database = await isDatabaseReachable();
    const problem = clockProblem();
    const checks = { draining: false, database, clock: problem ?? 'right' };
    const isReady = database && problem === null;
    return Response.json(
      { status: isReady ? 'ready' : 'not ready', ...checks },
      { status: isReady ? 200 : 503 },
    );
  };
}
