/**
 * Gathers what arrives while commits are in progress and commits it together. Only operations that nobody waits for yet,
 * which are patient, wait for company: any other waits only for the current turn of the event loop, and under load the
 * batches grow by themselves.
 */
export class GroupCommit<Operation, Result> {
  readonly #commit: Commit<Operation, Result>;
  readonly #options: Options<Operation>;
  #waiting: Waiting<Operation, Result>[] = [];
  #committing = 0;
  /** While all that wait are patient. */
  #patience: ReturnType<typeof setTimeout> | null = null;

  constructor(commit: Commit<Operation, Result>, options: Partial<Options<Operation>> = {}) {
    this.#commit = commit;
    this.#options = { ...defaults, ...options };
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  submit(operation: Operation): Promise<Result> {
    return new Promise((resolve, reject) => {
      const isFirst = this.#waiting.length === 0;
      this.#waiting.push({ operation, resolve, reject });
      const isWaitingPatiently = isFirst || this.#patience !== null;
      if (this.#options.isPatient(operation) && isWaitingPatiently)
        this.#patience ??= setTimeout(() => this.hurry(), this.#options.patienceMs);
      else this.hurry();
    });
  }

  /** Nobody is patient any more. */
  hurry(): void {
    if (this.#patience !== null) clearTimeout(this.#patience);
    this.#patience = null;
    if (this.#waiting.length === 0 || this.#committing >= this.#maxAtOnce) return;
    this.#committing += 1;
    this.#runSoon();
  }

  /** A small batch waits for the one before it, and grows meanwhile: that costs less than two, and hardly takes longer. */
  get #maxAtOnce(): number {
    return this.#waiting.length < this.#options.minBeside ? 1 : this.#options.maxAtOnce;
  }

  /** Whatever else is submitted in this turn of the event loop joins the same batch: fewer and larger ones cost less. */
  #runSoon(): void {
    setImmediate(() => this.#run());
  }

  #run(): void {
    // What came after the last batch was sent, and is patient, still waits for its time; and a small batch for the other one.
    if (this.#waiting.length === 0 || this.#patience !== null || this.#committing > this.#maxAtOnce) {
      this.#committing -= 1;
      return;
    }
    const batch = this.#waiting.splice(0, this.#options.maxPerBatch);
    this.#commit(batch.map(({ operation }) => operation)).then(
      (results) => {
        this.#runSoon();
        for (const [place, { resolve, reject }] of batch.entries()) {
          const result = results[place] as Result | Error;
          if (result instanceof Error) reject(result);
          else resolve(result);
        }
      },
      (error: unknown) => {
        this.#runSoon();
        for (const { reject } of batch) reject(error);
      },
    );
  }
}

type Options<Operation> = Readonly<{
  maxAtOnce: number;
  /** So many operations must wait for their batch to be committed beside another. */
  minBeside: number;
  maxPerBatch: number;
  isPatient: (operation: Operation) => boolean;
  patienceMs: number;
}>;

const defaults = { maxAtOnce: 1, minBeside: 0, maxPerBatch: 256, isPatient: () => false, patienceMs: 0 };

/** Returns one result per operation; an error fails its operation alone. */
type Commit<Operation, Result> = (batch: readonly Operation[]) => Promise<readonly (Result | Error)[]>;

type Waiting<Operation, Result> = Readonly<{
  operation: Operation;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}>;
