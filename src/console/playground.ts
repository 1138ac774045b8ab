/**
 * An inference request of a signed-in user, paid with a key of their account. Only the way in which the key is found
 * differs from the public endpoints.
 */
import type { SQL } from 'bun';
import { z } from 'zod';
import { completions } from '../chat/completions/dialect.ts';
import { chatWorkload } from '../chat/workload.ts';
import { ApiError } from '../errors.ts';
import { lookUp } from '../http/lookup.ts';
import { readQuery } from '../http/query.ts';
import { imageWorkload } from '../images/workload.ts';
import { Inference, type InferenceServices, readInferenceBody } from '../inference/request.ts';
import type { Plan, Workload } from '../inference/workload.ts';
import { bodyOf } from '../json/fields.ts';
import { parseBody } from '../json/problem.ts';
import { checkKey } from '../keys/authenticate.ts';
import type { KeyCache } from '../keys/key-cache.ts';
import type { ApiKey } from '../keys/key-store.ts';
import { isUuid } from '../lib/ids.ts';
import { type Caller, findStanding, requireMember, rowsForReader } from './access.ts';
import type { AccountHandler, Routes } from './guard.ts';

export type PlaygroundServices = InferenceServices & Readonly<{ sql: SQL; keys: KeyCache }>;

export function playgroundPage(services: PlaygroundServices): Routes<AccountHandler> {
  const { sql, keys, bodies } = services;

  /** From the cache, like the key of any other request, so that the limits of new lookups apply here too. */
  async function findKey(caller: Caller, keyId: string): Promise<ApiKey> {
    if (!isUuid(keyId)) throw new ApiError('key_not_found');
    const key = await keys.find(await findKeyHash(sql, caller, keyId));
    // A program learns only that its key is refused; members of the account may know why.
    if (key?.isAccountSuspended) throw new ApiError('account_suspended');
    return checkKey(key, new Date());
  }

  async function readCall(request: Request, caller: Caller) {
    // A request may be large, so it is read only from members.
    requireMember(await lookUp('api_keys_lookup_failed', () => findStanding(sql, caller)));
    const body = await readInferenceBody(request, bodies, caller.accountId).catch((thrown: unknown) => {
      throw thrown instanceof ApiError ? withoutPrefix(thrown) : thrown;
    });
    const { key_id: keyId, request: inner } = parseBody(callSchema, body);
    return { key: await lookUp('api_keys_lookup_failed', () => findKey(caller, keyId)), inner };
  }

  function serve<Wanted, Planned extends Plan, Job, Answer, Opened>(
    workload: Workload<Wanted, Planned, Job, Answer, Opened>,
  ): AccountHandler {
    const inference = new Inference(workload, services);
    return async (request, context) => {
      readQuery(request.url, []);
      const { key, inner } = await context.inSlot(() => readCall(request, context.caller));
      // Not in a slot: a provider may take minutes, and the key limits how many requests there are.
      return await inference.serve(key, inner, request, context.base);
    };
  }

  return {
    '/playground/chat': { POST: serve(chatWorkload(completions)) },
    '/playground/images': { POST: serve(imageWorkload) },
  };
}

/** The inner request is validated by its workload. A record would copy it, and lose `__proto__`. */
const callSchema = bodyOf({
  key_id: z.string('the ID of a key'),
  request: z
    .unknown()
    .refine(
      (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
      'an object: the body of the inner request',
    ),
});

/** Users write only the inner request, so the path to what is wrong with it starts there. */
function withoutPrefix(error: ApiError): ApiError {
  const inner = /^request(?:\.(?=.)|(?=\[))(.*)$/s.exec(error.param ?? '')?.[1];
  return inner === undefined ? error : error.with({ param: inner });
}

async function findKeyHash(sql: SQL, { userId, accountId }: Caller, keyId: string): Promise<Buffer> {
  const rows = await sql<{ hash: Uint8Array | null }[]>`
    select hash
    from memberships left join api_keys on api_keys.account_id = memberships.account_id and id = ${keyId}
    where user_id = ${userId} and memberships.account_id = ${accountId}`;
  const [row] = rowsForReader<{ hash: Uint8Array }, 'hash'>(rows, 'hash');
  if (row === undefined) throw new ApiError('key_not_found');
  return Buffer.from(row.hash);
}
