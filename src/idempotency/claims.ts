/** How this node makes its claims, stores their responses and releases them, whatever the database does meanwhile. */
import type { SQL } from 'bun';
import { backOffMs } from '../lib/back-off.ts';
import type { Log } from '../lib/log.ts';
import { logSparingly } from '../lib/log-sparingly.ts';
import { within } from '../lib/within.ts';
import { Claim, type ClaimDetails, type ClaimKeeper } from './claim.ts';
import {
  claim,
  deleteExpired,
  type IdempotentRequest,
  releaseClaim,
  stageResponses,
  takeOver,
} from './claim-store.ts';
import { StorageLimit } from './storage-limit.ts';

const cleanEveryMs = 60_000;
const maxCleanedAtOnce = 1_000;
const firstTryMs = 1_000;
/** How long the database may take to accept a claim. */
const claimPatienceMs = 3_000;
const stagePatienceMs = 3_000;
const firstPauseMs = 50;
const maxPauseMs = 5_000;

export class Claims implements ClaimKeeper {
  readonly key: Buffer;
  readonly #sql: SQL;
  readonly #nodeId: string;
  readonly #limit: StorageLimit;
  readonly #onRelease: (request: IdempotentRequest) => void;
  readonly #logUnended: (fields: Readonly<{ error: unknown }>) => void;
  readonly #cleaning: Timer;
  #isClosed = false;

  /** `key` encrypts the responses. */
  constructor(
    sql: SQL,
    key: Buffer,
    nodeId: string,
    onRelease: (request: IdempotentRequest) => void,
    log: Log,
  ) {
    this.key = key;
    this.#sql = sql;
    this.#nodeId = nodeId;
    this.#limit = new StorageLimit(sql);
    this.#onRelease = onRelease;
    this.#logUnended = logSparingly((fields) => log.error('claim not ended yet, trying again', fields));
    this.#cleaning = setInterval(() => {
      this.#limit.tidy();
      this.#clean().catch((error: unknown) => log.warn('expired responses not removed', { error }));
    }, cleanEveryMs);
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#cleaning);
  }

  /** Whether an API key may store another response. */
  async mayStore(keyId: string): Promise<boolean> {
    return !(await within(claimPatienceMs, this.#limit.isReached(keyId)));
  }

  /** Null when the idempotency key is taken. */
  async make(request: IdempotentRequest, details: ClaimDetails): Promise<Claim | null> {
    const claiming = claim(this.#sql, request, details.requestId, this.#nodeId);
    return await this.#made(request, details, claiming);
  }

  /** Takes the claim of a request that was abandoned. Null when another node was faster, or it was not abandoned. */
  async takeOver(request: IdempotentRequest, former: string, details: ClaimDetails): Promise<Claim | null> {
    const claiming = takeOver(this.#sql, request, former, details.requestId, this.#nodeId);
    return await this.#made(request, details, claiming);
  }

  /** When the database's reply is lost, the claim may be ours without our knowing: then it is released. */
  async #made(
    request: IdempotentRequest,
    details: ClaimDetails,
    claiming: Promise<boolean>,
  ): Promise<Claim | null> {
    try {
      if (!(await within(claimPatienceMs, claiming))) return null;
    } catch (error) {
      await this.#insist(() => releaseClaim(this.#sql, request, details.requestId));
      throw error;
    }
    if (details.mayBeStored) this.#limit.add(request.keyId, 1, 0);
    return new Claim(request, details, this);
  }

  note({ request }: Claim, bytes: number): void {
    this.#limit.add(request.keyId, 0, bytes);
  }

  async stage(
    { request, requestId }: Claim,
    response: Buffer,
    insufficientBalanceResponse: Buffer | null,
  ): Promise<boolean> {
    // Only one of the two is kept, so only one counts.
    if (!this.#limit.fits(request.keyId, response.length)) return false;
    this.#limit.add(request.keyId, 0, response.length);
    const staged = stageResponses(this.#sql, request, requestId, response, insufficientBalanceResponse);
    // Its client waits for the settlement, which waits for this.
    return await within(stagePatienceMs, staged).catch(() => false);
  }

  async release({ request, requestId, mayBeStored }: Claim): Promise<void> {
    if (mayBeStored) this.#limit.add(request.keyId, -1, 0);
    await this.#insist(() => releaseClaim(this.#sql, request, requestId));
    this.#onRelease(request);
  }

  /** A claim that is not ended keeps every request with its idempotency key waiting for as long as this node lives. */
  async #insist(end: () => Promise<void>): Promise<void> {
    try {
      // Its client is waiting for the response.
      await within(firstTryMs, end());
    } catch (error) {
      this.#logUnended({ error });
      this.#insistLater(end).catch(() => undefined);
    }
  }

  async #insistLater(end: () => Promise<void>): Promise<void> {
    for (let attempt = 0; !this.#isClosed; attempt++) {
      await Bun.sleep(backOffMs(attempt, firstPauseMs, maxPauseMs));
      try {
        return await end();
      } catch {
        // Logging it once is enough.
      }
    }
  }

  async #clean(): Promise<void> {
    while (!this.#isClosed && (await deleteExpired(this.#sql, maxCleanedAtOnce)) === maxCleanedAtOnce);
  }
}
