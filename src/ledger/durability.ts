/**
 * Waits until what was committed is on disk, and on the replicas that the database waits for. The ledger commits without
 * waiting, so that no row stays locked while a disk is written; then one wait serves all that was committed before it.
 */
import { GroupCommit } from '../lib/group-commit.ts';
import type { Writer } from './writer.ts';

export class Durability {
  readonly #writer: Writer;
  readonly #waits = new GroupCommit<null, null>((batch) => this.#flush(batch));

  constructor(writer: Writer) {
    this.#writer = writer;
  }

  /** Resolves when everything that was committed before is durable; fails when that is unknown. */
  async confirm(): Promise<void> {
    await this.#waits.submit(null);
  }

  /** A commit waits for everything before it in the log, and this one has nothing but a message in it that nobody reads. */
  async #flush(batch: readonly null[]): Promise<readonly null[]> {
    await this.#writer.use((connection) => connection`select pg_logical_emit_message(true, 'tollgate', '')`);
    return batch;
  }
}
