/**
 * Gathers what arrives while commits are in progress and commits it together. There is no timer: a single
 * operation waits only for the current turn of the event loop, and under load the batches grow by themselves.
 */
export class GroupCommit<Operation, Result> {
  readonly #commit: Commit<Operation, Result>;
  readonly #maxPerBatch: number;
  #waiting: Waiting<Operation, Result>[] = [];
  readonly #maxAtOnce: number;
  #committing = 0;

  constructor(commit: Commit<Operation, Result>, maxAtOnce = 1, maxPerBatch = 256) {
    this.#commit = commit;
    this.#maxAtOnce = maxAtOnce;
    this.#maxPerBatch = maxPerBatch;
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  /** `isWanted` is asked once, when the operation is about to be committed: one that nobody waits for is left out. */
  submit(operation: Operation, isWanted: () => boolean = always): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ operation, isWanted, resolve, reject });
      if (this.#committing >= this.#maxAtOnce) return;
      this.#committing += 1;
      this.#runSoon();
    });
  }

  /** Whatever else is submitted in this turn of the event loop joins the same batch: fewer and larger ones cost less. */
  #runSoon(): void {
    setImmediate(() => this.#run());
  }

  #run(): void {
    const batch = this.#next();
    if (batch.length === 0) {
      this.#committing -= 1;
      return;
    }
    this.#commit(batch.map(({ operation }) => operation)).then(
      (results) => {
        batch.forEach(({ resolve, reject }, place) => {
          const result = results[place] as Result | Error;
          if (result instanceof Error) reject(result);
          else resolve(result);
        });
        this.#runSoon();
      },
      (error: unknown) => {
        for (const { reject } of batch) reject(error);
        this.#runSoon();
      },
    );
  }

  #next(): Waiting<Operation, Result>[] {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#maxPerBatch).filter((entry) => {
        if (entry.isWanted()) return true;
        entry.reject(new Error('Nobody waits for this operation any more.'));
        return false;
      });
      if (batch.length > 0) return batch;
    }
    return [];
  }
}

const always = () => true;

/** Returns one result per operation; an error fails its operation alone. */
type Commit<Operation, Result> = (batch: readonly Operation[]) => Promise<readonly (Result | Error)[]>;

type Waiting<Operation, Result> = Readonly<{
  operation: Operation;
  isWanted: () => boolean;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}>;
