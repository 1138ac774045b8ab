/**
 * Runs each idempotent request once. The first request with an idempotency key claims it; others with the same body
 * wait for its response and get the very same, on whichever node they arrive. What was not charged runs again.
 */
import { createHash } from 'node:crypto';
import type { SQL } from 'bun';
import { backOffMs } from '../lib/back-off.ts';
import type { Log } from '../lib/log.ts';
import { logSparingly } from '../lib/log-sparingly.ts';
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
import { openStored, replay, type StreamResponse } from './replay.ts';
import { hashRequest } from './request-hash.ts';
import { StorageLimit } from './storage-limit.ts';
import { ClientGone, WaitingRoom } from './waiting-room.ts';

/** A request with an idempotency key: two with the same key must agree in `route` and `body`. */
export type IncomingRequest = Readonly<{
  id: string;
  keyId: string;
  route: string;
  body: unknown;
  /** Aborted when the client disconnects. */
  client: AbortSignal;
  /** Counts a replay towards the rate of the key, and throws when it is over that. */
  countReplay: () => Promise<void>;
}>;

type Run = (claim: Claim) => Promise<Response>;

export type Idempotency = Readonly<{
  /** Runs the request, or replays the stored response of an earlier request with the same idempotency key. */
  once: (idempotencyKey: string, incoming: IncomingRequest, run: Run) => Promise<Response>;
  close: () => void;
}>;

/** Marks a response that is not stored, usually because its key has stored as much as it may. */
const storedHeader = 'idempotency-stored';
/** A waiting request costs a connection, and a long response being sent also a piece of it in memory. */
const maxSlotsPerKey = 1_000;
const cleanEveryMs = 60_000;
const maxCleanedAtOnce = 1_000;
const firstTryMs = 1_000;
/** How long the database may take to accept a claim. */
const claimPatienceMs = 3_000;
const stagePatienceMs = 3_000;
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
    clean().catch((error: unknown) => log.warn('expired responses not removed', { error }));
  }, cleanEveryMs);
  let isClosed = false;
  const logUnended = logSparingly((fields) => log.error('claim not ended yet, trying again', fields));

  function note({ request }: Claim, bytes: number): void {
    limit.add(request.keyId, 0, bytes);
  }

  async function stage(
    { request, requestId }: Claim,
    response: Buffer,
    insufficientBalanceResponse: Buffer | null,
  ): Promise<boolean> {
    // Only one of the two is kept, so only one counts.
    if (!limit.fits(request.keyId, response.length)) return false;
    limit.add(request.keyId, 0, response.length);
    const staged = stageResponses(sql, request, requestId, response, insufficientBalanceResponse);
    // Its client waits for the settlement, which waits for this.
    return await within(stagePatienceMs, staged).catch(() => false);
  }

  async function release({ request, requestId, isStored }: Claim): Promise<void> {
    if (isStored) limit.add(request.keyId, -1, 0);
    await insist(() => releaseClaim(sql, request, requestId));
    waitingRoom.noteRelease(request);
  }

  /** A claim that is not ended keeps every request with its idempotency key waiting for as long as this node lives. */
  async function insist(end: () => Promise<void>): Promise<void> {
    try {
      // Its client is waiting for the response.
      await within(firstTryMs, end());
    } catch (error) {
      logUnended({ error });
      insistLater(end).catch(() => undefined);
    }
  }

  async function insistLater(end: () => Promise<void>): Promise<void> {
    for (let attempt = 0; !isClosed; attempt++) {
      await Bun.sleep(backOffMs(attempt, firstPauseMs, maxPauseMs));
      try {
        return await end();
      } catch {
        // Logged once is enough.
      }
    }
  }

  async function clean(): Promise<void> {
    while (!isClosed && (await deleteExpired(sql, maxCleanedAtOnce)) === maxCleanedAtOnce);
  }

  /** When the database's reply is lost, the claim may be ours without our knowing: then it is released. */
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

  /** The claim, or the replayed response. */
  async function claimOrReplay(
    request: IdempotentRequest,
    { id, countReplay }: IncomingRequest,
    client: AbortSignal,
  ): Promise<Claim | Response> {
    const isFull = await within(claimPatienceMs, limit.isReached(request.keyId));
    for (;;) {
      if (await certain(request, id, within(claimPatienceMs, claim(sql, request, id, nodeId))))
        return owned(request, id, isFull);
      let state: ClaimState | null = (await readStates(sql, [request])).get(identityOf(request)) ?? null;
      checkBody(request, state);
      if (state !== null && !state.hasResponse && state.isInProgress) {
        state = await waitingRoom.outcomeOf(request, client);
        checkBody(request, state);
      }
      // Released: it was not charged, or not stored, and runs again for the next request that claims it.
      if (state === null) continue;
      if (state.hasResponse) {
        await countReplay();
        const stored = await openStored(sql, key, request, state.requestId);
        if (stored !== null) return replay(sql, stored, slots, streamResponse, client, log);
        continue;
      }
      if (
        await certain(
          request,
          id,
          within(claimPatienceMs, takeOver(sql, request, state.requestId, id, nodeId)),
        )
      )
        return owned(request, id, isFull);
    }
  }

  function owned(request: IdempotentRequest, id: string, isFull: boolean): Claim {
    if (!isFull) limit.add(request.keyId, 1, 0);
    return new Claim(request, id, !isFull, keeper);
  }

  async function runClaimed(claimed: Claim, run: Run): Promise<Response> {
    try {
      const response = await run(claimed);
      await claimed.releaseIfOpen();
      // The headers of a stream are sent before it is known whether all of it can be stored.
      if (!claimed.isReplayable) response.headers.set(storedHeader, 'false');
      return response;
    } catch (error) {
      await claimed.release();
      throw error;
    }
  }

  return {
    once: async (idempotencyKey, incoming, run) => {
      const { keyId, route, body, client } = incoming;
      const idempotencyHash = createHash('sha256').update(idempotencyKey).digest('hex');
      const request = { keyId, idempotencyHash, bodyHash: await hashRequest(route, body) };
      try {
        const claimed = await claimOrReplay(request, incoming, client);
        return claimed instanceof Claim ? await runClaimed(claimed, run) : claimed;
      } catch (error) {
        if (error instanceof ClientGone) return new Response();
        throw error;
      }
    },
    close: () => {
      isClosed = true;
      clearInterval(cleaning);
    },
  };
}

function checkBody(request: IdempotentRequest, state: ClaimState | null): void {
  if (state !== null && state.bodyHash !== request.bodyHash) throw otherBody();
}
