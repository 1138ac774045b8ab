/** GET /v1/generations and GET /v1/generations/{request_id} */
import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import type { Handler } from '../http/context.ts';
import { lookUp } from '../http/lookup.ts';
import { presentPage } from '../http/present-page.ts';
import { readQuery } from '../http/query.ts';
import type { Authenticate } from '../keys/authenticate.ts';
import type { DerivedKeys } from '../lib/derived-keys.ts';
import { uuidFromRequestId } from '../lib/ids.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';
import { findGeneration, findPage, type GenerationSummary, newestPosition } from './generation-store.ts';
import { listParameters, parseListQuery } from './parse-list.ts';
import { presentGeneration, presentSummary } from './present.ts';

const failure = 'generation_lookup_failed';

/** From the primary: a client may ask right after its request. */
export function getGeneration({
  sql,
  authenticate,
}: Readonly<{ sql: SQL; authenticate: Authenticate }>): Handler {
  return async (request, context) => {
    const key = await authenticate(request, context, failure);
    readQuery(request.url, []);
    const id = uuidFromRequestId(lastSegment(request.url));
    const record = id === null ? null : await lookUp(failure, () => findGeneration(sql, id, key.id));
    if (record === null) throw new ApiError('generation_not_found');
    return Response.json(presentGeneration(record));
  };
}

export function listGenerations({
  reads,
  authenticate,
  deriveKey,
}: Readonly<{ reads: () => SQL; authenticate: Authenticate; deriveKey: DerivedKeys }>): Handler {
  const cursorKey = deriveKey('cursor');
  return async (request, context) => {
    const key = await authenticate(request, context, failure);
    const { limit, cursor, filter } = parseListQuery(readQuery(request.url, listParameters));
    const scope = [key.id, filter.status, filter.model] as const;
    const position = cursor === null ? newestPosition : decodeCursor(cursor, scope, cursorKey, Date.now());
    if (position === null) throw new ApiError('invalid_cursor', { param: 'cursor' });
    // One more than requested shows whether there is another page.
    const found = await lookUp(failure, () => findPage(reads(), key.id, filter, position, limit + 1));
    const cursorOf = ({ id }: GenerationSummary) => encodeCursor(id, scope, cursorKey, Date.now());
    return Response.json({ object: 'list', ...presentPage(found, limit, presentSummary, cursorOf) });
  };
}

function lastSegment(url: string): string {
  const { pathname } = new URL(url);
  return pathname.slice(pathname.lastIndexOf('/') + 1);
}
