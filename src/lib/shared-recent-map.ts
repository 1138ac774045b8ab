/**
 * Remembers values by owner and name, up to a number of values. Once it is full, whoever has the most loses the value that
 * was set longest ago, so no owner can crowd out the others. Every operation takes the same time, however many there are:
 * the order is kept in links, because a Map takes long to find its first entry after many were deleted.
 */
export class SharedRecentMap<Value> {
  readonly #maxSize: number;
  readonly #owners = new Map<string, Owner<Value>>();
  /** The owners by how many values they have; among equals, first the one who set or lost one longest ago. */
  readonly #ownersBySize = new Map<number, Link>();
  /** How many values the owner with the most has. */
  #most = 0;
  #size = 0;

  constructor(maxSize: number) {
    this.#maxSize = maxSize;
  }

  get size(): number {
    return this.#size;
  }

  get(owner: string, name: string): Value | undefined {
    return this.#owners.get(owner)?.entries.get(name)?.value;
  }

  set(ownerName: string, name: string, value: Value): void {
    const owner = this.#owners.get(ownerName) ?? new Owner<Value>(ownerName);
    this.#owners.set(ownerName, owner);
    const sizeBefore = owner.entries.size;
    owner.entries.get(name)?.leave();
    const entry = new Entry(name, value);
    owner.entries.set(name, entry);
    owner.inOrder.append(entry);
    this.#place(owner, sizeBefore);
    if (this.#size > this.#maxSize) this.#forgetOne();
  }

  #forgetOne(): void {
    const owner = this.#ownersBySize.get(this.#most)?.next as Owner<Value>;
    const oldest = owner.inOrder.next as Entry<Value>;
    oldest.leave();
    owner.entries.delete(oldest.name);
    if (owner.entries.size === 0) this.#owners.delete(owner.name);
    this.#place(owner, owner.entries.size + 1);
  }

  /** The number of its values has changed by one at most. */
  #place(owner: Owner<Value>, sizeBefore: number): void {
    const { size } = owner.entries;
    this.#size += size - sizeBefore;
    owner.leave();
    if (this.#ownersBySize.get(sizeBefore)?.isAlone === true) this.#ownersBySize.delete(sizeBefore);
    if (size > 0) {
      const equals = this.#ownersBySize.get(size) ?? new Link();
      this.#ownersBySize.set(size, equals);
      equals.append(owner);
    }
    if (size > this.#most) this.#most = size;
    else if (!this.#ownersBySize.has(this.#most)) this.#most -= 1;
  }
}

/** Part of a ring. A list is a ring with one link that stands for the list itself, before the first and after the last. */
class Link {
  next: Link = this;
  previous: Link = this;

  get isAlone(): boolean {
    return this.next === this;
  }

  leave(): void {
    this.previous.next = this.next;
    this.next.previous = this.previous;
    this.next = this;
    this.previous = this;
  }

  /** Where this is the list: makes it the last. */
  append(link: Link): void {
    link.previous = this.previous;
    link.next = this;
    this.previous.next = link;
    this.previous = link;
  }
}

class Entry<Value> extends Link {
  readonly name: string;
  readonly value: Value;

  constructor(name: string, value: Value) {
    super();
    this.name = name;
    this.value = value;
  }
}

class Owner<Value> extends Link {
  readonly name: string;
  readonly entries = new Map<string, Entry<Value>>();
  /** The oldest first. */
  readonly inOrder = new Link();

  constructor(name: string) {
    super();
    this.name = name;
  }
}
