/** Work on the same thing is done in the order in which it came, each after the one before has ended. */
export class OneAtATime {
  /** The last work on each thing that has any. */
  readonly #last = new Map<string, Promise<unknown>>();

  run<Result>(id: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(id);
    const running = before === undefined ? work() : before.then(work, work);
    this.#last.set(id, running);
    const end = () => {
      if (this.#last.get(id) === running) this.#last.delete(id);
    };
    running.then(end, end);
    return running;
  }
}
