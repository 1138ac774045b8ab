/**
 * Carries out each named request once. The first one with a name claims it; others with the same body wait for its
 * answer and get the very same, on whichever node they arrive. What failed in a way that may pass is carried out anew.
 */
import { createHash } from 'node:crypto';
import type { SQL } from 'bun';
import { ApiError, errorTable } from '../errors.ts';
import { requestIdFromUuid } from '../lib/ids.ts';
import type { Log } from '../lib/log.ts';
import { within } from '../lib/within.ts';
import { Claim, type ClaimKeeper } from './claim.ts';
import {
  type ClaimState,
  claim,
  deleteExpired,
  keepAnswer,
  type NamedRequest,
  placeOf,
  readAnswer,
  readStates,
  releaseClaim,
  stageAnswers,
  takeOver,
} from './claim-store.ts';
import { otherBody, readRequestName } from './request-name.ts';
import { type Answer, unseal } from './sealing.ts';
import { ClientGone, WaitingRoom } from './waiting-room.ts';

/** A request as far as its name goes: two with the same name must agree in `route` and `body`. */
export type Call = Readonly<{ id: string; keyId: string; route: string; body: unknown }>;

export type Idempotency = Readonly<{
  /** Carries the request out, or answers as it was answered before. A request without a name is simply carried out. */
  once: (
    request: Request,
    call: Call,
    carryOut: (claim: Claim | null) => Promise<Response>,
  ) => Promise<Response>;
  close: () => void;
}>;

const cleanEveryMs = 60_000;
const mostCleanedAtOnce = 1_000;
const firstTryMs = 1_000;
const firstPauseMs = 50;
const longestPauseMs = 5_000;

/** `present` makes the response of a refusal, which is kept as it is. */
export function openIdempotency(
  sql: SQL,
  key: Buffer,
  nodeId: string,
  present: (error: ApiError) => Response,
  log: Log,
): Idempotency {
  const waitingRoom = new WaitingRoom(sql);
  const keeper: ClaimKeeper = {
    key,
    stage: ({ request, requestId }, whole, whenShort) =>
      stageAnswers(sql, request, requestId, whole, whenShort).catch(() => false),
    keep: ({ request, requestId }, answer) => insist(() => keepAnswer(sql, request, requestId, answer)),
    release: ({ request, requestId }) => insist(() => releaseClaim(sql, request, requestId)),
  };
  const cleaning = setInterval(() => {
    clean().catch((error: unknown) => log.warn('expired answers not removed', { error }));
  }, cleanEveryMs);
  let isClosed = false;

  /** A claim that is not ended keeps everyone with its name waiting for as long as this node lives. */
  async function insist(end: () => Promise<void>): Promise<void> {
    try {
      // A client waits for its answer meanwhile.
      await within(firstTryMs, end());
    } catch (error) {
      log.error('claim not ended yet, trying again', { error });
      insistLater(end).catch(() => undefined);
    }
  }

  async function insistLater(end: () => Promise<void>): Promise<void> {
    for (let pauseMs = firstPauseMs; !isClosed; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      await Bun.sleep(pauseMs);
      try {
        return await end();
      } catch {
        // Said once is enough.
      }
    }
  }

  async function clean(): Promise<void> {
    while (!isClosed && (await deleteExpired(sql, mostCleanedAtOnce)) === mostCleanedAtOnce);
  }

  /** When the reply of the database is lost, the claim may be ours without our knowing: then it is given back. */
  async function certain(request: NamedRequest, id: string, claiming: Promise<boolean>): Promise<boolean> {
    try {
      return await claiming;
    } catch (error) {
      await insist(() => releaseClaim(sql, request, id));
      throw error;
    }
  }

  /** The right to carry it out, or the answer that there is already. */
  async function claimOrAnswer(
    request: NamedRequest,
    id: string,
    client: AbortSignal,
  ): Promise<Claim | Answer> {
    const owned = () => new Claim(request, id, requestIdFromUuid(id), keeper);
    for (;;) {
      if (await certain(request, id, claim(sql, request, id, nodeId))) return owned();
      let state: ClaimState | null = (await readStates(sql, [request])).get(placeOf(request)) ?? null;
      refuseOtherBody(request, state);
      if (state !== null && !state.isAnswered && state.isUnderWay) {
        state = await waitingRoom.outcomeOf(request, client);
        refuseOtherBody(request, state);
      }
      // Gone: it failed in a way that may pass, and whoever claims it next tries again.
      if (state === null) continue;
      if (state.isAnswered) {
        const answer = await readAnswer(sql, request);
        if (answer !== null) return openAnswer(answer, key, request);
        continue;
      }
      if (await certain(request, id, takeOver(sql, request, state.requestId, id, nodeId))) return owned();
    }
  }

  async function carryOutClaimed(
    owned: Claim,
    carryOut: (claim: Claim) => Promise<Response>,
  ): Promise<Response> {
    try {
      const response = await carryOut(owned);
      await owned.releaseIfOpen();
      return response;
    } catch (error) {
      if (error instanceof ApiError && isFinal(error)) await owned.keep(await answerOf(present(error)));
      else await owned.release();
      throw error;
    }
  }

  return {
    once: async (request, { id, keyId, route, body }, carryOut) => {
      const name = readRequestName(request.headers);
      if (name === null) return await carryOut(null);
      const named = { keyId, name: hashOf(name), bodyHash: hashOf(`${route} ${canonical(body)}`) };
      const claimed = await claimOrAnswer(named, id, request.signal).catch(asAnswerable);
      if (claimed === null) return new Response();
      return claimed instanceof Claim ? await carryOutClaimed(claimed, carryOut) : replay(claimed);
    },
    close: () => {
      isClosed = true;
      clearInterval(cleaning);
    },
  };
}

/** Nodes that do not share their secret cannot read each other's answers: that is for the operator to mend. */
function openAnswer(answer: Uint8Array, key: Buffer, request: NamedRequest): Answer {
  try {
    return unseal(answer, key, placeOf(request));
  } catch (cause) {
    throw new ApiError('server_not_configured', { cause });
  }
}

/** Null for a client that left while it waited. */
function asAnswerable(error: unknown): null {
  if (error instanceof ClientGone) return null;
  throw error;
}

function refuseOtherBody(request: NamedRequest, state: ClaimState | null): void {
  if (state !== null && state.bodyHash !== request.bodyHash) throw otherBody();
}

/**
 * What only another request, another key or the operator can change is answered in the same way again. What is wrong
 * with the request itself is found out anew each time, which costs less than keeping it.
 */
function isFinal({ code }: ApiError): boolean {
  const { retryable, type } = errorTable[code];
  return retryable === 'no' && type !== 'invalid_request_error';
}

const keptHeaders = ['content-type', 'x-should-retry'];

async function answerOf(response: Response): Promise<Omit<Answer, 'requestId'>> {
  const headers: Record<string, string> = {};
  for (const name of keptHeaders) {
    const value = response.headers.get(name);
    if (value !== null) headers[name] = value;
  }
  return { status: response.status, headers, body: await response.text() };
}

/** The same answer under the same request ID: it is that request's, and this one was never carried out. */
function replay({ requestId, status, headers, body }: Answer): Response {
  return new Response(body, {
    status,
    headers: {
      ...headers,
      'idempotent-replayed': 'true',
      'x-service-request-id': requestId,
      'x-request-id': requestId,
    },
  });
}

/** The same text for the same JSON, in whatever order its fields stand. */
function canonical(body: unknown): string {
  return JSON.stringify(body, (_name, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
