/**
 * Waits until what was committed is on disk, and on the replicas that the database waits for. The ledger commits without
 * waiting, so that no row stays locked while a disk is written; then one wait serves all that was committed before it.
 *
 * What is waited for may have been lost before the wait began, when the database crashed and is back already. Every session
 * ends with a crash, so only a session that is older than the commit can confirm it.
 */
import type { SQL } from 'bun';
import { GroupCommit } from '../lib/group-commit.ts';
import type { Writer } from './writer.ts';

export class Durability {
  readonly #writer: Writer;
  readonly #waits = new GroupCommit<SQL, boolean>((sessions) => this.#flush(sessions));

  constructor(writer: Writer) {
    this.#writer = writer;
  }

  /** To be asked for before the commit that it is to confirm. */
  session(): SQL | Promise<SQL> {
    return this.#writer.current ?? this.#writer.use(async (connection) => connection);
  }

  /** Resolves when everything that was committed since `session` was asked for is durable; fails when that is unknown. */
  async confirm(session: SQL): Promise<void> {
    if (!(await this.#waits.submit(session))) throw new Error('The session with the database was lost.');
  }

  /** A commit waits for everything before it in the log, and this one has nothing but a message in it that nobody reads. */
  #flush(sessions: readonly SQL[]): Promise<readonly boolean[]> {
    return this.#writer.use(async (current) => {
      await current`select pg_logical_emit_message(true, 'tollgate', '')`;
      return sessions.map((session) => session === current);
    });
  }
}
