/** GET /api/console/operator/providers: how they do, on every node. */
import { readQuery } from '../../../http/query.ts';
import type { ConsoleContext } from '../../guard.ts';
import { presentProviders } from './present.ts';
import { countAttempts, findFailures, findReports } from './provider-queries.ts';

export async function listProviders(
  request: Request,
  { services, signedIn }: ConsoleContext,
): Promise<Response> {
  readQuery(request.url, []);
  const { sql } = services;
  const [reports, counts, failures] = await Promise.all([
    findReports(sql, signedIn.userId),
    countAttempts(sql, signedIn.userId),
    findFailures(sql, signedIn.userId),
  ]);
  return Response.json(presentProviders(services.catalog(), reports, counts, failures));
}
