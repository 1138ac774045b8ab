/**
 * Whether any key was imported, for a node that must not ask the database for every key of a strange form. It reads that when
 * a key was announced, one query at a time, and never again once there is one: imported keys are not deleted. Strange keys
 * that arrive make it read at most every few seconds, in case an announcement was lost.
 */
const lifeMs = 5_000;

export class ImportWatch {
  readonly #ask: () => Promise<boolean>;
  readonly #nowMs: () => number;
  #hasFound = false;
  #staleAtMs = 0;
  #reading: Promise<void> | null = null;
  /** A key was announced during the query, which may not have seen it. */
  #mustReadAgain = false;

  constructor(ask: () => Promise<boolean>, nowMs: () => number) {
    this.#ask = ask;
    this.#nowMs = nowMs;
  }

  /** As of the last reading; the next caller may learn more. */
  found(): boolean {
    if (!this.#hasFound && this.#staleAtMs <= this.#nowMs() && this.#reading === null) this.note();
    return this.#hasFound;
  }

  /** A key was announced, which may be an imported one. Nobody waits for the reading. */
  note(): void {
    this.read().catch(() => undefined);
  }

  /** Never fails: without an answer, it stays as it was. */
  async read(): Promise<void> {
    if (this.#hasFound) return;
    if (this.#reading !== null) {
      this.#mustReadAgain = true;
      return await this.#reading;
    }
    this.#reading = this.#readUntilCurrent();
    await this.#reading;
  }

  async #readUntilCurrent(): Promise<void> {
    do {
      this.#mustReadAgain = false;
      this.#staleAtMs = this.#nowMs() + lifeMs;
      this.#hasFound = await this.#ask().catch(() => false);
    } while (this.#mustReadAgain && !this.#hasFound);
    this.#reading = null;
  }
}
