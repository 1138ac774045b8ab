/** /api/console/accounts/{account}/generations: what all keys of an account have asked for. */
import { ApiError } from '../../errors.ts';
import { decodeCursor, encodeCursor } from '../../generations/cursor.ts';
import { newestPosition } from '../../generations/generation-store.ts';
import { lookUp } from '../../http/lookup.ts';
import { presentPage } from '../../http/present-page.ts';
import { readQuery } from '../../http/query.ts';
import { uuidFromRequestId } from '../../lib/ids.ts';
import { callerOf } from '../access.ts';
import type { GenerationRow, Page } from '../contract.ts';
import type { ConsoleContext } from '../guard.ts';
import { findDetail, findPage, type ListedGeneration } from './generation-queries.ts';
import { listParameters, parseAccountList } from './parse.ts';
import { presentDetail, presentRow } from './present.ts';

const failure = 'generation_lookup_failed';

export async function listGenerations(request: Request, context: ConsoleContext): Promise<Response> {
  const caller = callerOf(context);
  const { sql, deriveKey } = context.services;
  const { limit, cursor, filter } = parseAccountList(readQuery(request.url, listParameters));
  const signingKey = deriveKey('console cursor');
  const scope = [caller.accountId, filter.keyId, filter.status, filter.model] as const;
  const position = cursor === null ? newestPosition : decodeCursor(cursor, scope, signingKey, Date.now());
  if (position === null) throw new ApiError('invalid_cursor', { param: 'cursor' });
  // One more than asked for tells whether there is more.
  const found = await lookUp(failure, () => findPage(sql, caller, filter, position, limit + 1));
  const cursorOf = (last: ListedGeneration) => encodeCursor(last.id, scope, signingKey, Date.now());
  return Response.json(presentPage(found, limit, presentRow, cursorOf) satisfies Page<GenerationRow>);
}

export async function showGeneration(request: Request, context: ConsoleContext): Promise<Response> {
  const caller = callerOf(context);
  readQuery(request.url, []);
  const id = uuidFromRequestId(context.params.generation ?? '') ?? nobodysId;
  const generation = await lookUp(failure, () => findDetail(context.services.sql, caller, id));
  if (generation === null)
    throw new ApiError('generation_not_found', { message: 'This account has no request with this ID.' });
  return Response.json(presentDetail(generation));
}

/** What is no request ID is looked up all the same, so that only members are told that it is none. */
const nobodysId = '00000000-0000-0000-0000-000000000000';
