/** /api/console/accounts/{account}/keys: members see the keys, owners make, change and end them. */
import { lookUp } from '../../http/lookup.ts';
import { readQuery } from '../../http/query.ts';
import { generateKey } from '../../keys/key-format.ts';
import { callerOf } from '../access.ts';
import { readSmallBody } from '../body.ts';
import type { Key, NewKey } from '../contract.ts';
import type { ConsoleContext } from '../guard.ts';
import { idIn } from '../params.ts';
import { endKey, findKeys, insertKey, insertReplacement, type KeyRecord, updateKey } from './key-queries.ts';
import {
  parseKeyChange,
  parseKeyDraft,
  parseNothing,
  parseReplacement,
  refuseUnknownModels,
} from './parse.ts';
import { presentKey } from './present.ts';

export async function listKeys(request: Request, context: ConsoleContext): Promise<Response> {
  const caller = callerOf(context);
  readQuery(request.url, []);
  const keys = await lookUp('api_keys_lookup_failed', () => findKeys(context.services.sql, caller));
  return Response.json({ data: keys.map(presentKey) satisfies Key[] });
}

export async function createKey(request: Request, context: ConsoleContext): Promise<Response> {
  const caller = callerOf(context);
  readQuery(request.url, []);
  const settings = parseKeyDraft(await readSmallBody(request), new Date());
  refuseUnknownModels(settings.allowedModels ?? [], isInCatalog(context));
  const secret = generateKey();
  return tellOnce(await insertKey(context.services.sql, caller, secret, settings), secret);
}

export async function changeKey(request: Request, context: ConsoleContext): Promise<Response> {
  const caller = callerOf(context);
  const keyId = keyIn(context);
  readQuery(request.url, []);
  const change = parseKeyChange(await readSmallBody(request), new Date());
  const key = await updateKey(context.services.sql, caller, keyId, change, isInCatalog(context));
  return Response.json(presentKey(key));
}

export async function replaceKey(request: Request, context: ConsoleContext): Promise<Response> {
  const caller = callerOf(context);
  const keyId = keyIn(context);
  readQuery(request.url, []);
  const revokeAt = parseReplacement(await readSmallBody(request), new Date());
  const secret = generateKey();
  return tellOnce(await insertReplacement(context.services.sql, caller, keyId, secret, revokeAt), secret);
}

export async function revokeKey(request: Request, context: ConsoleContext): Promise<Response> {
  const caller = callerOf(context);
  const keyId = keyIn(context);
  readQuery(request.url, []);
  parseNothing(await readSmallBody(request));
  return Response.json(presentKey(await endKey(context.services.sql, caller, keyId)));
}

function keyIn({ params }: ConsoleContext): string {
  return idIn(params, 'key', 'key_not_found');
}

function isInCatalog({ services }: ConsoleContext): (id: string) => boolean {
  const { models } = services.catalog().catalog;
  return (id) => models.has(id);
}

/** The only answer that holds a secret, which is stored nowhere. */
function tellOnce(key: KeyRecord, secret: string): Response {
  return Response.json({ key: presentKey(key), secret } satisfies NewKey);
}
