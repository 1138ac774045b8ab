/** The right to carry out a named request, until it is answered for good or given back. */
import { ApiError, presentError } from '../errors.ts';
import type { KeptAnswer } from '../ledger/operations.ts';
import { type NamedRequest, placeOf } from './claim-store.ts';
import { type Answer, seal } from './sealing.ts';

export type ClaimKeeper = Readonly<{
  key: Buffer;
  /** Whether the answers are in the database now, for the ledger to keep one of them. */
  stage: (claim: Claim, whole: Buffer, whenShort: Buffer | null) => Promise<boolean>;
  keep: (claim: Claim, answer: Buffer) => Promise<void>;
  release: (claim: Claim) => Promise<void>;
}>;

const mostInlineBytes = 65_536;

export class Claim {
  readonly request: NamedRequest;
  /** The UUID of the request that carries it out. */
  readonly requestId: string;
  readonly #publicId: string;
  readonly #keeper: ClaimKeeper;
  #isOpen = true;

  constructor(request: NamedRequest, requestId: string, publicId: string, keeper: ClaimKeeper) {
    this.request = request;
    this.requestId = requestId;
    this.#publicId = publicId;
    this.#keeper = keeper;
  }

  /**
   * What the ledger keeps together with the charge. `whenShort` is the answer if the balance does not cover it. The
   * ledger's transactions are everyone's: what is long travels on its own.
   */
  async kept(body: string | null, headers: Answer['headers'], whenShort: string | null): Promise<KeptAnswer> {
    const sealed = (text: string) => this.#seal({ status: 200, headers, body: text });
    const { name } = this.request;
    if (body === null) return { name, ...this.#lost() };
    const [whole, short] = [sealed(body), whenShort === null ? null : sealed(whenShort)];
    if (whole.length <= mostInlineBytes)
      return { name, whole: whole.toString('base64'), whenShort: short?.toString('base64') ?? null };
    const isStaged = await this.#keeper.stage(this, whole, short);
    return { name, ...(isStaged ? { whole: 'staged', whenShort: short && 'staged' } : this.#lost()) };
  }

  /** An answer that cannot be kept was charged all the same: retries are told to look at it, and do not pay again. */
  #lost(): Omit<KeptAnswer, 'name'> {
    const error = presentError(new ApiError('billing_consistency_error'));
    const headers = { 'content-type': 'application/json', 'x-should-retry': 'false' };
    const sealed = this.#seal({ status: 500, headers, body: JSON.stringify(error) }).toString('base64');
    return { whole: sealed, whenShort: sealed };
  }

  /** Whoever has it now ends it: the ledger has kept the answer, or a stream will see to it when it is over. */
  handOver(): void {
    this.#isOpen = false;
  }

  /** Keeps an answer that costs nothing. */
  async keep(answer: Omit<Answer, 'requestId'>): Promise<void> {
    this.#isOpen = false;
    await this.#keeper.keep(this, this.#seal(answer));
  }

  /** Lets the next one with this name carry it out, unless the ledger has kept an answer. */
  async release(): Promise<void> {
    this.#isOpen = false;
    await this.#keeper.release(this);
  }

  async releaseIfOpen(): Promise<void> {
    if (this.#isOpen) await this.release();
  }

  #seal(answer: Omit<Answer, 'requestId'>): Buffer {
    return seal({ requestId: this.#publicId, ...answer }, this.#keeper.key, placeOf(this.request));
  }
}
