/** GET /api/console/operator/providers: how they do, on every node. */
import { readQuery } from '../../../http/query.ts';
import type { ConsoleContext } from '../../guard.ts';
import { presentProviders } from './present.ts';
import { countAttempts, findFailures, findReports } from './provider-queries.ts';

export async function listProviders(request: Request, { services }: ConsoleContext): Promise<Response> {
  readQuery(request.url, []);
  const { sql } = services;
  const [reports, counts, failures] = await Promise.all([
    findReports(sql),
    countAttempts(sql),
    findFailures(sql),
  ]);
  return Response.json(presentProviders(services.catalog(), reports, counts, failures));
}
