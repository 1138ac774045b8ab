/** Counts by name. A name is dropped when its count is back at zero, so there are never more names than work in progress. */
export class Tally {
  readonly #counts = new Map<string, number>();

  /** How many names have a count. */
  get size(): number {
    return this.#counts.size;
  }

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  add(name: string, change: number): void {
    const count = this.of(name) + change;
    if (count > 0) this.#counts.set(name, count);
    else this.#counts.delete(name);
  }
}
