/**
 * Waits until what was committed is on disk, and on the replicas that the database waits for. The ledger commits without
 * waiting, so that no row stays locked while a disk is written; then one wait covers everything committed before it.
 *
 * A commit may have been lost before the wait for it began, if the database crashed and is back already. A crash ends
 * every session, so only a session that is older than the commit can confirm it. And after a failover, the session may be
 * with another server than the one that committed.
 */
import { GroupCommit } from '../lib/group-commit.ts';
import { isIntegrityError } from './database-error.ts';
import type { Lane } from './lane.ts';
import type { Session } from './lost-sessions.ts';
import type { Operation, OperationResult } from './operations.ts';
import { pauseBeforeRetry } from './retry.ts';
import type { Writer } from './writer.ts';

const briefMs = 2_000;

export class Durability {
  readonly #writer: Writer;
  readonly #committing: readonly Writer[];
  readonly #waits = new GroupCommit<Session, boolean>((sessions) => this.#flush(sessions));

  /** `writer` is for the waits alone; `committing` are the writers whose commits are waited for. */
  constructor(writer: Writer, ...committing: Writer[]) {
    this.#writer = writer;
    this.#committing = committing;
  }

  /** Must be called before the commit that the session is to confirm. */
  session(): Session | Promise<Session> {
    return this.#writer.current ?? this.#writer.use(async (_connection, session) => session);
  }

  /**
   * Resolves when everything that was committed on `server` since `session` was asked for is durable; fails when that is
   * unknown.
   */
  async confirm(session: Session, server: string): Promise<void> {
    if (session.server !== server) {
      // Any of them may be with a server that is no longer the primary.
      if (this.#writer.current === session) this.#writer.reconnect();
      for (const writer of this.#committing) if (writer.current?.server === server) writer.reconnect();
      throw new Error('The sessions of the ledger are with different servers.');
    }
    if (!(await this.#waits.submit(session))) throw new Error('The session with the database was lost.');
  }

  /** A commit waits for everything before it in the log. This one contains only a message that nobody reads. */
  #flush(sessions: readonly Session[]): Promise<readonly boolean[]> {
    return this.#writer.use(async (connection, current) => {
      await connection`select pg_logical_emit_message(true, 'tollgate', '')`;
      return sessions.map((session) => session === current);
    });
  }
}

/** Commits operations on the lane, and waits until they are durable. */
export class DurableLane {
  readonly #lane: Lane;
  readonly #durability: Durability;

  constructor(lane: Lane, durability: Durability) {
    this.#lane = lane;
    this.#durability = durability;
  }

  async submit<Result extends OperationResult>(operation: Operation): Promise<Result> {
    const known = this.#durability.session();
    const session = known instanceof Promise ? await known : known;
    const { result, isDurable, server } = await this.#lane.submit<Result>(operation);
    if (!isDurable) await this.#durability.confirm(session, server);
    return result;
  }

  /**
   * For operations that are tried only for a moment, in which a locked row may be free again, or a lost session replaced. A
   * request whose outcome was unknown may count twice towards a rate; the others are idempotent.
   */
  async submitBriefly<Result extends OperationResult>(operation: Operation): Promise<Result> {
    const deadlineMs = performance.now() + briefMs;
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.submit<Result>(operation);
      } catch (error) {
        if (isIntegrityError(error) || performance.now() > deadlineMs) throw error;
        await pauseBeforeRetry(attempt);
      }
    }
  }
}
