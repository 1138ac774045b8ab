/** GET /api/console/operator/catalog: the catalogue as this node has it in force. */
import { readQuery } from '../../../http/query.ts';
import type { ConsoleContext } from '../../guard.ts';
import { presentCatalog } from './present.ts';

export async function showCatalog(request: Request, { services }: ConsoleContext): Promise<Response> {
  readQuery(request.url, []);
  return Response.json(presentCatalog(services.catalogFile, services.catalogStatus(), services.catalog()));
}
