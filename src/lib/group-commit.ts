/**
 * Gathers what arrives while a commit is in progress and commits it together. There is no timer: one operation alone is
 * committed at once, and under load the batches grow by themselves.
 */
export class GroupCommit<Operation, Result> {
  readonly #commit: (batch: readonly Operation[]) => Promise<readonly Result[]>;
  readonly #maxPerBatch: number;
  #waiting: Waiting<Operation, Result>[] = [];
  #isCommitting = false;

  constructor(commit: (batch: readonly Operation[]) => Promise<readonly Result[]>, maxPerBatch = 256) {
    this.#commit = commit;
    this.#maxPerBatch = maxPerBatch;
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  submit(operation: Operation): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ operation, resolve, reject });
      if (this.#isCommitting) return;
      this.#isCommitting = true;
      // Whatever else is submitted in this turn of the event loop joins the same batch.
      queueMicrotask(() => this.#run());
    });
  }

  #run(): void {
    const batch = this.#waiting.splice(0, this.#maxPerBatch);
    if (batch.length === 0) {
      this.#isCommitting = false;
      return;
    }
    this.#commit(batch.map(({ operation }) => operation)).then(
      (results) => {
        batch.forEach(({ resolve }, place) => {
          resolve(results[place] as Result);
        });
        this.#run();
      },
      (error: unknown) => {
        for (const { reject } of batch) reject(error);
        this.#run();
      },
    );
  }
}

type Waiting<Operation, Result> = Readonly<{
  operation: Operation;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}>;
