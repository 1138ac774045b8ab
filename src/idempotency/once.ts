/**
 * Runs each idempotent request once. The first request with an idempotency key claims it; others with the same body wait
 * for its response and get the same one, whichever node they reach. A request that was not charged runs again.
 */
import { createHash } from 'node:crypto';
import type { SQL } from 'bun';
import type { PresentError } from '../errors.ts';
import type { Log } from '../lib/log.ts';
import { Claim } from './claim.ts';
import { type ClaimState, type IdempotentRequest, identityOf, readStates } from './claim-store.ts';
import { Claims } from './claims.ts';
import { otherBody } from './idempotency-key.ts';
import { KeySlots } from './key-slots.ts';
import { openStored, replay, type StreamResponse } from './replay.ts';
import { hashRequest } from './request-hash.ts';
import { ClientGone, WaitingRoom } from './waiting-room.ts';

/** A request with an idempotency key: two with the same key must agree in `route` and `body`. */
type IncomingRequest = Readonly<{
  id: string;
  keyId: string;
  route: string;
  body: unknown;
  /** Aborted when the client disconnects. */
  client: AbortSignal;
  /** Counts a replay towards the rate of the key, and throws when it is over that. */
  countReplay: () => Promise<void>;
  presentError: PresentError;
}>;

/** Marks a response that is not stored, usually because its key has stored as much as it may. */
const storedHeader = 'idempotency-stored';
/** A waiting request costs a connection, and a long response being sent also a piece of it in memory. */
const maxSlotsPerKey = 1_000;

export class Idempotency {
  readonly #sql: SQL;
  readonly #key: Buffer;
  readonly #streamResponse: StreamResponse;
  readonly #log: Log;
  readonly #slots = new KeySlots(maxSlotsPerKey);
  readonly #waitingRoom: WaitingRoom;
  readonly #claims: Claims;

  /** `key` encrypts the stored responses. */
  constructor(sql: SQL, key: Buffer, nodeId: string, streamResponse: StreamResponse, log: Log) {
    this.#sql = sql;
    this.#key = key;
    this.#streamResponse = streamResponse;
    this.#log = log;
    this.#waitingRoom = new WaitingRoom(sql, this.#slots);
    this.#claims = new Claims(sql, key, nodeId, (request) => this.#waitingRoom.noteRelease(request), log);
  }

  readonly close = (): void => this.#claims.close();

  /** Runs the request, or replays the stored response of an earlier request with the same idempotency key. */
  async once(
    idempotencyKey: string,
    incoming: IncomingRequest,
    run: (claim: Claim) => Promise<Response>,
  ): Promise<Response> {
    const { keyId, route, body } = incoming;
    const idempotencyHash = createHash('sha256').update(idempotencyKey).digest('hex');
    const request = { keyId, idempotencyHash, bodyHash: await hashRequest(route, body) };
    try {
      const claimed = await this.#claimOrReplay(request, incoming);
      return claimed instanceof Claim ? await runClaimed(claimed, run) : claimed;
    } catch (error) {
      if (error instanceof ClientGone) return new Response();
      throw error;
    }
  }

  /** The claim, or the replayed response. */
  async #claimOrReplay(
    request: IdempotentRequest,
    { id, client, countReplay, presentError }: IncomingRequest,
  ): Promise<Claim | Response> {
    const mayBeStored = await this.#claims.mayStore(request.keyId);
    const details = { requestId: id, mayBeStored, presentError };
    for (;;) {
      const made = await this.#claims.make(request, details);
      if (made !== null) return made;
      const state = await this.#outcome(request, client);
      // Released: it was not charged, or not stored, and runs again for the next request that claims it.
      if (state === null) continue;
      if (state.hasResponse) {
        await countReplay();
        const stored = await openStored(this.#sql, this.#key, request, state.requestId);
        if (stored !== null)
          return replay(this.#sql, stored, this.#slots, this.#streamResponse, client, this.#log);
        continue;
      }
      const taken = await this.#claims.takeOver(request, state.requestId, details);
      if (taken !== null) return taken;
    }
  }

  /** What has become of the request that has the claim, once it is no longer in progress; null when it was released. */
  async #outcome(request: IdempotentRequest, client: AbortSignal): Promise<ClaimState | null> {
    const state = (await readStates(this.#sql, [request])).get(identityOf(request)) ?? null;
    checkBody(request, state);
    if (state === null || state.hasResponse || !state.isInProgress) return state;
    const outcome = await this.#waitingRoom.outcomeOf(request, client);
    checkBody(request, outcome);
    return outcome;
  }
}

async function runClaimed(claim: Claim, run: (claim: Claim) => Promise<Response>): Promise<Response> {
  try {
    const response = await run(claim);
    await claim.releaseIfOpen();
    // The headers of a stream are sent before it is known whether all of it can be stored.
    if (!claim.isReplayable) response.headers.set(storedHeader, 'false');
    return response;
  } catch (error) {
    await claim.release();
    throw error;
  }
}

function checkBody(request: IdempotentRequest, state: ClaimState | null): void {
  if (state !== null && state.bodyHash !== request.bodyHash) throw otherBody();
}
