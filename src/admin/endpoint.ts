/** What every endpoint of the admin API has in common: its token and scope, its body, and how a change is made once. */
import type { BunRequest, SQL, TransactionSQL } from 'bun';
import type { TokenActor } from '../audit-log/audit-log.ts';
import { ApiError } from '../errors.ts';
import type { Handler, RequestContext } from '../http/context.ts';
import { type Query, readQuery } from '../http/query.ts';
import { readIdempotencyKey } from '../idempotency/idempotency-key.ts';
import { hashRequest } from '../idempotency/request-hash.ts';
import { readJsonBody } from '../json/body.ts';
import { bodyOf } from '../json/fields.ts';
import { parseBody } from '../json/problem.ts';
import { BoundedQueue, OverloadError } from '../lib/bounded-queue.ts';
import { shortTransaction } from '../lib/short-transaction.ts';
import { keepToken, type Scope } from '../tokens/token-store.ts';
import type { AuthenticateToken } from './authenticate.ts';
import { once } from './once.ts';

/** One request, after its token was found. */
export type Call<Body = unknown> = Readonly<{
  actor: TokenActor;
  /** The named parts of the path. They are arbitrary text. */
  params: Readonly<Record<string, string>>;
  query: Query;
  headers: Headers;
  body: Body;
  request: Request;
}>;

export type Answer = Readonly<{
  body?: unknown;
  /** In place of a body: one that is JSON already. */
  text?: string;
  /** 200, unless something was created. */
  status?: 200 | 201;
  etag?: string;
  /** What must not happen before the change is committed, nor again for a retry. */
  afterwards?: () => void;
}>;

type Reading = Readonly<{
  scope: Scope | null;
  /** The query parameters that it knows. */
  query?: readonly string[];
  read: (call: Call) => Promise<Answer>;
}>;

/** Responds with a stream, which goes on after its slot is free. */
type Streaming = Readonly<{
  scope: Scope;
  query: readonly string[];
  stream: (call: Call, context: RequestContext) => Promise<Response>;
}>;

/** Looks at what was posted, and changes nothing. */
type Checking<Body> = Readonly<{
  scope: Scope;
  parse: (body: unknown) => Body;
  maxBytes: number;
  check: (call: Call<Body>) => Promise<Answer>;
}>;

/** `change` runs in the transaction in which its response is stored. */
type Changing<Body> = Readonly<{
  scope: Scope;
  /** Must not depend on the time: a retry has to pass whenever it comes. What does belongs in `change`. */
  parse: (body: unknown) => Body;
  change: (transaction: TransactionSQL, call: Call<Body>) => Promise<Answer>;
}>;

/**
 * Changes something elsewhere, so it cannot be part of a transaction of ours. A reference in its body makes it one change,
 * however often it is sent.
 */
type Acting<Body> = Readonly<{
  scope: Scope;
  parse: (body: unknown) => Body;
  /** `transact` runs a transaction in which the token is still valid. */
  act: (call: Call<Body>, transact: Transact) => Promise<Answer>;
}>;

export type Transact = <Result>(run: (transaction: TransactionSQL) => Promise<Result>) => Promise<Result>;

export type Endpoint = Reading | Streaming | Checking<unknown> | Changing<unknown> | Acting<unknown>;
export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';
export type Endpoints = Readonly<Record<string, Partial<Record<Method, Endpoint>>>>;

export function reading(endpoint: Reading): Endpoint {
  return endpoint;
}

export function streaming(endpoint: Streaming): Endpoint {
  return endpoint;
}

/** Keeps the type of the body between its schema and its use. */
export function changing<Body>(endpoint: Changing<Body>): Endpoint {
  return endpoint as Changing<unknown>;
}

export function checking<Body>(endpoint: Checking<Body>): Endpoint {
  return endpoint as Checking<unknown>;
}

export function acting<Body>(endpoint: Acting<Body>): Endpoint {
  return endpoint as Acting<unknown>;
}

const emptyBody = bodyOf({});

/** For changes without parameters. */
export const nothing = (body: unknown) => parseBody(emptyBody, body);

type EndpointServices = Readonly<{
  sql: SQL;
  authenticateToken: AuthenticateToken;
  /** Encrypts the stored responses. */
  encryptionKey: Buffer;
}>;

/** One program must not occupy the connections to the database that everyone shares. */
const maxRunningPerToken = 4;
const maxWaitingPerToken = 100;
const defaultMaxBytes = 64 * 1024;

export function endpointHandlers(services: EndpointServices): (endpoint: Endpoint) => Handler {
  const queue = new BoundedQueue({
    maxRunningPerOrigin: maxRunningPerToken,
    maxWaitingPerOrigin: maxWaitingPerToken,
  });
  const inSlot = (tokenId: string, run: () => Promise<Response>) =>
    queue.run({ origin: tokenId }, run).catch((thrown: unknown) => {
      throw thrown instanceof OverloadError ? tooMany() : thrown;
    });
  return (endpoint) => async (request, context) => {
    const actor = await services.authenticateToken(request, context, endpoint.scope);
    const known = 'read' in endpoint || 'stream' in endpoint ? endpoint.query : [];
    const base = {
      actor,
      params: (request as BunRequest).params,
      query: readQuery(request.url, known ?? []),
      headers: request.headers,
      request,
    };
    if ('read' in endpoint)
      return await inSlot(actor.tokenId, async () =>
        respond(await endpoint.read({ ...base, body: undefined })),
      );
    if ('stream' in endpoint)
      return await inSlot(actor.tokenId, () => endpoint.stream({ ...base, body: undefined }, context));
    const body = await readSmallBody(request, 'check' in endpoint ? endpoint.maxBytes : defaultMaxBytes);
    const call = { ...base, body: endpoint.parse(body) };
    return await inSlot(actor.tokenId, async () => {
      if ('check' in endpoint) return respond(await endpoint.check(call));
      if ('act' in endpoint)
        return respond(await endpoint.act(call, (run) => inTransaction(services.sql, actor, run)));
      return await change(services, endpoint, call, body, context);
    });
  };
}

function tooMany(): ApiError {
  return new ApiError('rate_limit_exceeded', {
    retryAfterSeconds: 1,
    message: 'This admin token has too many requests in progress. Wait until some of them have finished.',
  });
}

/** A change without parameters needs no body. */
async function readSmallBody(request: Request, maxBytes: number): Promise<unknown> {
  const isEmpty = request.body === null || request.headers.get('content-length') === '0';
  return isEmpty ? {} : await readJsonBody(request, { maxBytes });
}

async function change(
  { sql, encryptionKey }: EndpointServices,
  endpoint: Changing<unknown>,
  call: Call,
  body: unknown,
  { requestId }: RequestContext,
): Promise<Response> {
  const { request, actor } = call;
  const idempotencyKey = readIdempotencyKey(request.headers);
  if (idempotencyKey === null) {
    const answer = await inTransaction(sql, actor, (transaction) => endpoint.change(transaction, call));
    answer.afterwards?.();
    return respond(answer);
  }
  const { pathname } = new URL(request.url);
  const requestHash = await hashRequest(`${request.method} ${pathname}`, body);
  const outcome = await inTransaction(sql, actor, (transaction) =>
    once(transaction, encryptionKey, { tokenId: actor.tokenId, idempotencyKey, requestHash }, async () => {
      const answer = await endpoint.change(transaction, call);
      return { answer, stored: { requestId, ...plain(answer) } };
    }),
  );
  if ('replayed' in outcome) {
    const { requestId: firstId, ...stored } = outcome.replayed;
    const headers = {
      ...stored.headers,
      'idempotent-replayed': 'true',
      'x-service-request-id': firstId,
      'x-request-id': firstId,
    };
    return new Response(stored.body, { status: stored.status, headers });
  }
  outcome.done.answer.afterwards?.();
  return respond(outcome.done.answer);
}

async function inTransaction<Result>(
  sql: SQL,
  { tokenId }: TokenActor,
  run: (transaction: TransactionSQL) => Promise<Result>,
): Promise<Result> {
  return await shortTransaction(sql, async (transaction) => {
    await keepToken(transaction, tokenId);
    return await run(transaction);
  });
}

function respond(answer: Answer): Response {
  const { status, headers, body } = plain(answer);
  return new Response(body, { status, headers });
}

function plain({ body, text, status = 200, etag }: Answer) {
  return {
    status,
    headers: { 'content-type': 'application/json;charset=utf-8', ...(etag === undefined ? {} : { etag }) },
    body: text ?? JSON.stringify(body),
  };
}
