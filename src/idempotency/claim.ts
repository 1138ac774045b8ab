/** The right to run an idempotent request, until its response is stored or the claim is released. */
import { ApiError, type PresentError } from '../errors.ts';
import type { StoredResponse } from '../ledger/operations.ts';
import { requestIdFromUuid } from '../lib/ids.ts';
import { type IdempotentRequest, identityOf } from './claim-store.ts';
import { encrypt, type ResponseHead } from './encryption.ts';

export type ClaimKeeper = Readonly<{
  key: Buffer;
  /** Whether the responses are in the database now, for the ledger to choose from. */
  stage: (claim: Claim, response: Buffer, insufficientBalanceResponse: Buffer | null) => Promise<boolean>;
  release: (claim: Claim) => Promise<void>;
  /** How much is about to be stored. */
  note: (claim: Claim, bytes: number) => void;
}>;

const maxInlineBytes = 65_536;

export type ClaimDetails = Readonly<{
  /** The UUID of the request that runs. */
  requestId: string;
  /** False when the key has stored as much as it may: then the request runs, but its response is not stored. */
  mayBeStored: boolean;
  presentError: PresentError;
}>;

export class Claim {
  readonly request: IdempotentRequest;
  readonly requestId: string;
  readonly mayBeStored: boolean;
  readonly #keeper: ClaimKeeper;
  readonly #presentError: PresentError;
  #isOpen = true;
  #isLost = false;

  constructor(request: IdempotentRequest, details: ClaimDetails, keeper: ClaimKeeper) {
    this.request = request;
    this.requestId = details.requestId;
    this.mayBeStored = details.mayBeStored;
    this.#presentError = details.presentError;
    this.#keeper = keeper;
  }

  /** Whether retries will get the response, as far as is known now: one that turns out too large is lost. */
  get isReplayable(): boolean {
    return this.mayBeStored && !this.#isLost;
  }

  /**
   * What the ledger stores together with the charge; null when nothing is stored. `insufficientBalanceBody` is the
   * response if the balance does not cover the cost. The ledger's transactions are shared, so a long response is stored
   * separately.
   */
  async toStore(
    body: string | null,
    headers: ResponseHead['headers'],
    insufficientBalanceBody: string | null,
  ): Promise<StoredResponse | null> {
    if (!this.mayBeStored) return null;
    const { idempotencyHash } = this.request;
    if (body === null) return { idempotencyHash, ...(await this.#lost()) };
    const encrypted = (text: string) => this.#encrypt({ status: 200, headers }, text);
    const response = await encrypted(body);
    const denial = insufficientBalanceBody === null ? null : await encrypted(insufficientBalanceBody);
    if (response.length <= maxInlineBytes) {
      this.#keeper.note(this, response.length);
      const insufficientBalanceResponse = denial?.toString('base64') ?? null;
      return { idempotencyHash, response: response.toString('base64'), insufficientBalanceResponse };
    }
    if (!(await this.#keeper.stage(this, response, denial)))
      return { idempotencyHash, ...(await this.#lost()) };
    return { idempotencyHash, response: 'staged', insufficientBalanceResponse: denial && 'staged' };
  }

  /** A response that cannot be stored was charged all the same: retries get an error, and do not pay again. */
  async #lost(): Promise<Omit<StoredResponse, 'idempotencyHash'>> {
    this.#isLost = true;
    const lost = new ApiError('billing_consistency_error');
    const error = JSON.stringify(this.#presentError(lost, requestIdFromUuid(this.requestId)));
    const headers = { 'content-type': 'application/json', 'x-should-retry': 'false' };
    const encrypted = (await this.#encrypt({ status: 500, headers }, error)).toString('base64');
    return { response: encrypted, insufficientBalanceResponse: encrypted };
  }

  /** Leaves ending the claim to the ledger, which has stored the response, or to a stream that is still open. */
  handOver(): void {
    this.#isOpen = false;
  }

  /** Lets the next request with this idempotency key run, unless the ledger has stored a response. */
  async release(): Promise<void> {
    this.#isOpen = false;
    await this.#keeper.release(this);
  }

  async releaseIfOpen(): Promise<void> {
    if (this.#isOpen) await this.release();
  }

  #encrypt(head: Omit<ResponseHead, 'requestId'>, body: string): Promise<Buffer> {
    const requestId = requestIdFromUuid(this.requestId);
    return encrypt({ requestId, ...head, body }, this.#keeper.key, identityOf(this.request));
  }
}
