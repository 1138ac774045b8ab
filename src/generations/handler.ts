/** GET /v1/generations/{request_id} */
import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import type { RequestContext } from '../http/context.ts';
import { readQuery } from '../http/query.ts';
import { authenticate } from '../keys/authenticate.ts';
import { uuidFromRequestId } from '../lib/ids.ts';
import { findGeneration, type GenerationRecord } from './generation-store.ts';
import { presentGeneration } from './present.ts';

export async function getGeneration(request: Request, { services }: RequestContext): Promise<Response> {
  const key = await authenticate(request.headers.get('authorization'), services.keys);
  readQuery(request.url, []);
  const record = await lookUp(services.sql, lastSegment(request.url), key.id);
  if (record === null) throw new ApiError('generation_not_found');
  return Response.json(presentGeneration(record));
}

async function lookUp(sql: SQL, requestId: string, keyId: string): Promise<GenerationRecord | null> {
  const id = uuidFromRequestId(requestId);
  if (id === null) return null;
  try {
    return await findGeneration(sql, id, keyId);
  } catch (cause) {
    throw new ApiError('generation_lookup_failed', { cause });
  }
}

function lastSegment(url: string): string {
  const { pathname } = new URL(url);
  return pathname.slice(pathname.lastIndexOf('/') + 1);
}
