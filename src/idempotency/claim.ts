/** The right to carry out a named request, until it is answered for good or given back. */
import type { KeptAnswer } from '../ledger/operations.ts';
import { type NamedRequest, placeOf } from './claim-store.ts';
import { type Answer, seal } from './sealing.ts';

export type ClaimKeeper = Readonly<{
  key: Buffer;
  keep: (claim: Claim, answer: Buffer) => Promise<void>;
  release: (claim: Claim) => Promise<void>;
}>;

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

  /** What the ledger keeps together with the charge. `whenShort` is the answer if the balance does not cover it. */
  kept(body: string, contentType: string, whenShort: string | null): KeptAnswer {
    const sealed = (text: string) =>
      this.#seal({ status: 200, headers: { 'content-type': contentType }, body: text });
    return {
      name: this.request.name,
      answer: sealed(body).toString('base64'),
      answerWhenShort: whenShort === null ? null : sealed(whenShort).toString('base64'),
    };
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
