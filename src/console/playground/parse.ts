/** What the playground sends: a key of the account, and a body of POST /v1/chat/completions. */
import { z } from 'zod';
import { ApiError } from '../../errors.ts';
import type { Payer } from '../../http/body-bytes.ts';
import { readJsonBody } from '../../http/json-body.ts';
import { parseBody } from '../../http/problem.ts';

type PlaygroundCall = Readonly<{ keyId: string; chat: unknown }>;

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The inner request is checked where all chat requests are. A record would copy it, and lose `__proto__`. */
const schema = z.strictObject(
  {
    key_id: z.string('the ID of a key'),
    request: z.unknown().refine(isObject, 'an object: the body of a chat request'),
  },
  'a JSON object',
);

export async function readPlaygroundCall(request: Request, payer: Payer): Promise<PlaygroundCall> {
  const body = await readJsonBody(request, { payer }).catch((thrown: unknown) => {
    throw thrown instanceof ApiError ? inWordsOfChat(thrown) : thrown;
  });
  const { key_id: keyId, request: chat } = parseBody(schema, body);
  return { keyId, chat };
}

/** People write the inner request only, so what is wrong with it is said without the way to it. */
function inWordsOfChat(error: ApiError): ApiError {
  const inner = /^request(?:\.(?=.)|(?=\[))(.*)$/s.exec(error.param ?? '')?.[1];
  return inner === undefined ? error : new ApiError(error.code, { param: inner, message: error.message });
}
