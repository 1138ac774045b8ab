/** A line in which everything waits equally long, so that things leave in the order in which they came. */
export class DelayLine<Item> {
  readonly #delayMs: number;
  #waiting: { item: Item; dueAtMs: number }[] = [];

  constructor(delayMs: number) {
    this.#delayMs = delayMs;
  }

  push(item: Item, nowMs: number): void {
    this.#waiting.push({ item, dueAtMs: nowMs + this.#delayMs });
  }

  /** When the first is due; null when none waits. */
  get nextDueAtMs(): number | null {
    return this.#waiting[0]?.dueAtMs ?? null;
  }

  takeDue(nowMs: number): Item[] {
    const firstEarly = this.#waiting.findIndex(({ dueAtMs }) => dueAtMs > nowMs);
    const due = this.#waiting.splice(0, firstEarly < 0 ? this.#waiting.length : firstEarly);
    return due.map(({ item }) => item);
  }
}
