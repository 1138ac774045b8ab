/**
 * POST /api/console/accounts/{account}/playground/chat: a chat request of someone who is signed in, with a key of their
 * account. Only who may use the key is found out in another way; the rest is what the public endpoint does.
 */
import { chatWorkload } from '../../chat/workload.ts';
import { ApiError } from '../../errors.ts';
import type { Services } from '../../http/context.ts';
import { lookUp } from '../../http/lookup.ts';
import { readQuery } from '../../http/query.ts';
import { answer } from '../../inference/answer.ts';
import { checkKey } from '../../keys/authenticate.ts';
import type { ApiKey } from '../../keys/key-store.ts';
import { type Caller, callerOf } from '../access.ts';
import type { ConsoleContextAtLength } from '../guard.ts';
import { requireMembership } from '../models/model-queries.ts';
import { isUuid } from '../params.ts';
import { findKeyHash } from './key-queries.ts';
import { readPlaygroundCall } from './parse.ts';

export async function chatInPlayground(request: Request, context: ConsoleContextAtLength): Promise<Response> {
  const caller = callerOf(context);
  readQuery(request.url, []);
  const { key, chat } = await context.inTurn(() => readCall(request, caller, context.services));
  // Not in turn: a provider may take minutes, and how many requests there are is the key's limit.
  return await answer(chatWorkload, context.services.inference, key, chat, request, context);
}

async function readCall(
  request: Request,
  caller: Caller,
  services: Services,
): Promise<Readonly<{ key: ApiKey; chat: unknown }>> {
  // A chat may be large, and is taken in only from those who belong here.
  await lookUp('api_keys_lookup_failed', () => requireMembership(services.sql, caller));
  const { keyId, chat } = await readPlaygroundCall(request, {
    budget: services.bodies,
    accountId: caller.accountId,
  });
  const key = await lookUp('api_keys_lookup_failed', () => keyOf(caller, keyId, services));
  return { key, chat };
}

/** From the cache, like that of any other request: whoever was told to wait has to wait here too. */
async function keyOf(caller: Caller, keyId: string, { sql, keys }: Services): Promise<ApiKey> {
  if (!isUuid(keyId)) throw new ApiError('key_not_found');
  const hash = await findKeyHash(sql, caller, keyId);
  const key = await keys.find(hash);
  // A program is told no more than that its key is refused; who belongs to the account may know why.
  if (key?.isAccountSuspended) throw new ApiError('account_suspended');
  return checkKey(key, new Date());
}
