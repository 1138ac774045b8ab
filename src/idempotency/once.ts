/**
 * Carries out each named request once. The first one with a name claims it; others with the same body wait for its
 * answer and get the very same, on whichever node they arrive. What was not charged is carried out anew.
 */
import { createHash } from 'node:crypto';
import type { SQL } from 'bun';
import { backOffMs } from '../lib/back-off.ts';
import type { Log } from '../lib/log.ts';
import { within } from '../lib/within.ts';
import { Claim, type ClaimKeeper } from './claim.ts';
import {
  type ClaimState,
  claim,
  deleteExpired,
  type IdempotentRequest,
  identityOf,
  readStates,
  releaseClaim,
  stageResponses,
  takeOver,
} from './claim-store.ts';
import { otherBody } from './idempotency-key.ts';
import { KeySlots } from './key-slots.ts';
import {
  headersOf,
  isLong,
  type OpenedResponse,
  openStored,
  replayShort,
  type StreamResponse,
  writeLong,
} from './replay.ts';
import { hashRequest } from './request-hash.ts';
import { StorageLimit } from './storage-limit.ts';
import { ClientGone, WaitingRoom } from './waiting-room.ts';

/** A request as far as its name goes: two with the same name must agree in `route` and `body`. */
export type Call = Readonly<{
  id: string;
  keyId: string;
  route: string;
  body: unknown;
  /** Aborted when the client disconnects. */
  client: AbortSignal;
  /** Counts a replay towards the rate of the key, and throws when it is over that. */
  countReplay: () => Promise<void>;
}>;

export type Idempotency = Readonly<{
  /** Carries the request out, or replays the stored response of an earlier request with the same idempotency key. */
  once: (
    idempotencyKey: string,
    call: Call,
    carryOut: (claim: Claim) => Promise<Response>,
  ) => Promise<Response>;
  close: () => void;
}>;

/** Says of an answer that is not stored, as a rule because its key has stored as much as it may. */
const storedHeader = 'idempotency-stored';
/** A waiting request costs a connection, and a long answer on its way a piece of it besides. */
const maxSlotsPerKey = 1_000;
const cleanEveryMs = 60_000;
const maxCleanedAtOnce = 1_000;
const firstTryMs = 1_000;
const firstPauseMs = 50;
const maxPauseMs = 5_000;

export function openIdempotency(
  sql: SQL,
  key: Buffer,
  nodeId: string,
  streamResponse: StreamResponse,
  log: Log,
): Idempotency {
  const slots = new KeySlots(maxSlotsPerKey);
  const waitingRoom = new WaitingRoom(sql, slots);
  const limit = new StorageLimit(sql);
  const keeper: ClaimKeeper = { key, stage, note, release };
  const cleaning = setInterval(() => {
    limit.tidy();
    clean().catch((error: unknown) => log.warn('expired answers not removed', { error }));
  }, cleanEveryMs);
  let isClosed = false;

  function note({ request }: Claim, bytes: number): void {
    limit.add(request.keyId, 0, bytes);
  }

  async function stage(
    { request, requestId }: Claim,
    whole: Buffer,
    insufficientBalanceResponse: Buffer | null,
  ): Promise<boolean> {
    // Only one of the two stays.
    if (!limit.fits(request.keyId, whole.length)) return false;
    limit.add(request.keyId, 0, whole.length);
    return await stageResponses(sql, request, requestId, whole, insufficientBalanceResponse).catch(
      () => false,
    );
  }

  async function release({ request, requestId, isStored }: Claim): Promise<void> {
    if (isStored) limit.add(request.keyId, -1, 0);
    await insist(() => releaseClaim(sql, request, requestId));
    waitingRoom.noteRelease(request);
  }

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
    for (let attempt = 0; !isClosed; attempt++) {
      await Bun.sleep(backOffMs(attempt, firstPauseMs, maxPauseMs));
      try {
        return await end();
      } catch {
        // Said once is enough.
      }
    }
  }

  async function clean(): Promise<void> {
    while (!isClosed && (await deleteExpired(sql, maxCleanedAtOnce)) === maxCleanedAtOnce);
  }

  /** When the reply of the database is lost, the claim may be ours without our knowing: then it is given back. */
  async function certain(
    request: IdempotentRequest,
    id: string,
    claiming: Promise<boolean>,
  ): Promise<boolean> {
    try {
      return await claiming;
    } catch (error) {
      await insist(() => releaseClaim(sql, request, id));
      throw error;
    }
  }

  /** The right to carry it out, or the answer that there is already. */
  async function claimOrReplay(
    request: IdempotentRequest,
    { id, countReplay }: Call,
    client: AbortSignal,
  ): Promise<Claim | Response> {
    const isFull = await limit.isReached(request.keyId);
    for (;;) {
      if (await certain(request, id, claim(sql, request, id, nodeId))) return owned(request, id, isFull);
      let state: ClaimState | null = (await readStates(sql, [request])).get(identityOf(request)) ?? null;
      refuseOtherBody(request, state);
      if (state !== null && !state.isAnswered && state.isInProgress) {
        state = await waitingRoom.outcomeOf(request, client);
        refuseOtherBody(request, state);
      }
      // Gone: it was not charged, or not stored, and whoever claims it next carries it out anew.
      if (state === null) continue;
      if (state.isAnswered) {
        await countReplay();
        const stored = await openStored(sql, key, request, state.requestId);
        if (stored !== null) return replay(stored, client);
        continue;
      }
      if (await certain(request, id, takeOver(sql, request, state.requestId, id, nodeId)))
        return owned(request, id, isFull);
    }
  }

  function owned(request: IdempotentRequest, id: string, isFull: boolean): Claim {
    if (!isFull) limit.add(request.keyId, 1, 0);
    return new Claim(request, id, !isFull, keeper);
  }

  function replay(stored: OpenedResponse, signal: AbortSignal): Response {
    const headers = headersOf(stored);
    if (!isLong(stored)) return replayShort(stored, headers);
    const leave = slots.take(stored.request.keyId);
    return streamResponse(headers, signal, (client) => writeLong(sql, stored, client, log).finally(leave));
  }

  async function carryOutClaimed(
    claimed: Claim,
    carryOut: (claim: Claim) => Promise<Response>,
  ): Promise<Response> {
    try {
      const response = await carryOut(claimed);
      await claimed.releaseIfOpen();
      // The headers of a stream are out before it is known whether all of it can be kept.
      if (!claimed.isReplayable) response.headers.set(storedHeader, 'false');
      return response;
    } catch (error) {
      await claimed.release();
      throw error;
    }
  }

  return {
    once: async (idempotencyKey, call, carryOut) => {
      const { keyId, route, body, client } = call;
      const named = {
        keyId,
        idempotencyHash: hashOf(idempotencyKey),
        bodyHash: await hashRequest(route, body),
      };
      const claimed = await claimOrReplay(named, call, client).catch(asAnswerable);
      if (claimed === null) return new Response();
      return claimed instanceof Claim ? await carryOutClaimed(claimed, carryOut) : claimed;
    },
    close: () => {
      isClosed = true;
      clearInterval(cleaning);
    },
  };
}

/** Null for a client that left while it waited. */
function asAnswerable(error: unknown): null {
  if (error instanceof ClientGone) return null;
  throw error;
}

function refuseOtherBody(request: IdempotentRequest, state: ClaimState | null): void {
  if (state !== null && state.bodyHash !== request.bodyHash) throw otherBody();
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
