import type { RequestContext } from '../http/context.ts';

/** The process is alive; says nothing of what it depends on, so a lost database does not get it restarted. */
export function reportHealth(): Response {
  return Response.json({ status: 'ok' });
}

/** Whether this node should get traffic. */
export async function reportReadiness(_request: Request, { services }: RequestContext): Promise<Response> {
  const database = await services.isDatabaseReachable();
  const clockProblem = services.clockProblem();
  const checks = { draining: services.isDraining(), database, clock: clockProblem ?? 'right' };
  const isReady = database && !checks.draining && clockProblem === null;
  return Response.json(
    { status: isReady ? 'ready' : 'not ready', ...checks },
    { status: isReady ? 200 : 503 },
  );
}
