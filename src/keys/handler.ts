/** GET /v1/key */
import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import type { Handler } from '../http/context.ts';
import { lookUp } from '../http/lookup.ts';
import { readQuery } from '../http/query.ts';
import type { Authenticate } from './authenticate.ts';
import { findKeyStatus, presentKeyStatus } from './key-status.ts';

const failure = 'api_keys_lookup_failed';

/** From the primary: a client may ask right after a request. */
export function getKey({ sql, authenticate }: Readonly<{ sql: SQL; authenticate: Authenticate }>): Handler {
  return async (request, context) => {
    const { id } = await authenticate(request, context, failure);
    readQuery(request.url, []);
    const status = await lookUp(failure, () => findKeyStatus(sql, id));
    if (status === null) throw new ApiError('invalid_api_key');
    return Response.json(presentKeyStatus(status));
  };
}
