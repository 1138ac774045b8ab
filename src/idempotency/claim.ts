/** The right to carry out a named request, until it is answered for good or given back. */
import { ApiError, presentError } from '../errors.ts';
import type { KeptAnswer } from '../ledger/operations.ts';
import { requestIdFromUuid } from '../lib/ids.ts';
import { type NamedRequest, placeOf } from './claim-store.ts';
import { type AnswerHead, encrypt } from './encryption.ts';

export type ClaimKeeper = Readonly<{
  key: Buffer;
  /** Whether the answers are in the database now, for the ledger to keep one of them. */
  stage: (claim: Claim, whole: Buffer, whenShort: Buffer | null) => Promise<boolean>;
  release: (claim: Claim) => Promise<void>;
  /** How much is about to be stored. */
  note: (claim: Claim, bytes: number) => void;
}>;

const maxInlineBytes = 65_536;

export class Claim {
  readonly request: NamedRequest;
  /** The UUID of the request that carries it out. */
  readonly requestId: string;
  /** False when the key has stored as much as it may: then the request is carried out, and its answer is not kept. */
  readonly isStored: boolean;
  readonly #keeper: ClaimKeeper;
  #isOpen = true;
  #isLost = false;

  constructor(request: NamedRequest, requestId: string, isStored: boolean, keeper: ClaimKeeper) {
    this.request = request;
    this.requestId = requestId;
    this.isStored = isStored;
    this.#keeper = keeper;
  }

  /** Whether retries will get the answer, as far as is known now: whether it can be kept is seen once it is there. */
  get keepsAnswer(): boolean {
    return this.isStored && !this.#isLost;
  }

  /**
   * What the ledger keeps together with the charge; null when nothing is stored. `whenShort` is the answer if the balance
   * does not cover it. The ledger's transactions are everyone's: what is long travels on its own.
   */
  async kept(
    body: string | null,
    headers: AnswerHead['headers'],
    whenShort: string | null,
  ): Promise<KeptAnswer | null> {
    if (!this.isStored) return null;
    const { name } = this.request;
    if (body === null) return { name, ...(await this.#lost()) };
    const encrypted = (text: string) => this.#encrypt({ status: 200, headers }, text);
    const whole = await encrypted(body);
    const short = whenShort === null ? null : await encrypted(whenShort);
    if (whole.length <= maxInlineBytes) {
      this.#keeper.note(this, whole.length);
      return { name, whole: whole.toString('base64'), whenShort: short?.toString('base64') ?? null };
    }
    const isStaged = await this.#keeper.stage(this, whole, short);
    return { name, ...(isStaged ? { whole: 'staged', whenShort: short && 'staged' } : await this.#lost()) };
  }

  /** An answer that cannot be kept was charged all the same: retries are told to look at it, and do not pay again. */
  async #lost(): Promise<Omit<KeptAnswer, 'name'>> {
    this.#isLost = true;
    const error = JSON.stringify(presentError(new ApiError('billing_consistency_error')));
    const headers = { 'content-type': 'application/json', 'x-should-retry': 'false' };
    const encrypted = (await this.#encrypt({ status: 500, headers }, error)).toString('base64');
    return { whole: encrypted, whenShort: encrypted };
  }

  /** Whoever has it now ends it: the ledger has kept the answer, or a stream will see to it when it is over. */
  handOver(): void {
    this.#isOpen = false;
  }

  /** Lets the next one with this name carry it out, unless the ledger has kept an answer. */
  async release(): Promise<void> {
    this.#isOpen = false;
    await this.#keeper.release(this);
  }

  async releaseIfOpen(): Promise<void> {
    if (this.#isOpen) await this.release();
  }

  #encrypt(head: Omit<AnswerHead, 'requestId'>, body: string): Promise<Buffer> {
    const requestId = requestIdFromUuid(this.requestId);
    return encrypt({ requestId, ...head, body }, this.#keeper.key, placeOf(this.request));
  }
}
