/** Remembers the values of the most recently set names, and forgets the name that was set longest ago. */
export class RecentMap<Value> {
  readonly #maxSize: number;
  readonly #values = new Map<string, Value>();

  constructor(maxSize: number) {
    this.#maxSize = maxSize;
  }

  get size(): number {
    return this.#values.size;
  }

  get(name: string): Value | undefined {
    return this.#values.get(name);
  }

  set(name: string, value: Value): void {
    // Moved to the end: the map stays in the order in which its names were set.
    this.#values.delete(name);
    this.#values.set(name, value);
    if (this.#values.size <= this.#maxSize) return;
    const [oldest = ''] = this.#values.keys();
    this.#values.delete(oldest);
  }

  delete(name: string): void {
    this.#values.delete(name);
  }
}
