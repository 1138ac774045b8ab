/** A few alternatives, of which the next one is used when the current one fails. */
export class Rotation<Item> {
  readonly all: readonly Item[];
  #place = 0;

  constructor(all: readonly Item[]) {
    if (all.length === 0) throw new Error('There is nothing to rotate.');
    this.all = all;
  }

  get current(): Item {
    return this.all[this.#place] as Item;
  }

  next(): Item {
    this.#place = (this.#place + 1) % this.all.length;
    return this.current;
  }
}
