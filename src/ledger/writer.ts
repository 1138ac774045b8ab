/** A connection to the database for the ledger alone. One that is lost or silent is replaced. */
import type { ReservedSQL, SQL } from 'bun';
import { ReplaceableClient } from '../database/replaceable-client.ts';
import { Deadlines } from '../lib/deadlines.ts';
import type { Log } from '../lib/log.ts';
import { reasonNotConnected } from '../lib/shortage.ts';
import { isRejection } from './database-error.ts';
import { type LostSessions, lockSession, NotEndedError, type Session } from './lost-sessions.ts';

const deadlines = new Deadlines();

/**
 * The ledger's functions look up single rows by ID, so their plans are made once and always use the indexes, in the order
 * of the rows that they are given. Statistics do not help with tables whose rows come and go within seconds. A node that
 * freezes in the middle of a transaction must not block accounts for the others. Other nodes lock a row for milliseconds;
 * a row that stays locked for longer must not hold up the operations on all others.
 */
export const laneSettings = `
  set synchronous_commit = off;
  set plan_cache_mode = force_generic_plan;
  set enable_seqscan = off;
  set enable_hashjoin = off;
  set enable_mergejoin = off;
  set idle_in_transaction_session_timeout = '5s';
  set lock_timeout = '100ms'`;
/** On that lane nobody else waits, and a row that busy nodes share may take longer when the machine is busy, too. */
export const lockingLaneSettings = `${laneSettings}; set lock_timeout = '250ms'`;
export const flushSettings = `set lock_timeout = '5s'`;

export class Writer {
  readonly #client: ReplaceableClient;
  readonly #settings: string;
  readonly #silenceMs: number;
  readonly #log: Log;
  readonly #lost: LostSessions | null;
  #session: Promise<ReservedSession> | null = null;
  /** The same, once it is open. */
  #current: Session | null = null;
  #isClosed = false;

  /**
   * `settings` are those of the session. The database must not be silent for longer than `silenceMs`. If a lost session could
   * still change what the next one finds, it is noted in `lost`, and stopped before any session is used.
   */
  constructor(
    open: () => SQL,
    settings: string,
    silenceMs: number,
    log: Log,
    lost: LostSessions | null = null,
  ) {
    this.#client = new ReplaceableClient(open);
    this.#settings = settings;
    this.#silenceMs = silenceMs;
    this.#log = log;
    this.#lost = lost;
  }

  /** Null when there is none at the moment. */
  get current(): Session | null {
    return this.#current;
  }

  /** One session for all of `work`: when it is lost, the work must fail, not continue on another one. */
  async use<Result>(work: (connection: SQL, session: Session) => Promise<Result>): Promise<Result> {
    this.#session ??= this.#reserve();
    const reserved = this.#session;
    const silence = deadlines.start(this.#silenceMs, () => this.#hangUp(reserved));
    try {
      const session = await reserved;
      if (this.#lost !== null && this.#lost.count > 0) await this.#lost.stop(session);
      if (this.#session !== reserved) throw new Error('The session with the database was replaced.');
      return await work(session.connection, session);
    } catch (error) {
      if (!leavesSession(error)) this.#replace(reserved);
      throw error;
    } finally {
      silence.clear();
    }
  }

  /** Ends the session, if there is one. The next one may lead to another server. */
  reconnect(): void {
    this.#replace(this.#session);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const session = await this.#session?.catch(() => null);
    await session?.connection.release();
    await this.#client.close(5);
  }

  async #reserve(): Promise<ReservedSession> {
    const client = this.#client.current;
    const connection = await client.reserve().catch((error: unknown) => {
      throw reasonNotConnected(error);
    });
    await connection.unsafe(this.#settings);
    const [{ server }] = await connection<[{ server: string }]>`
      select concat(pg_postmaster_start_time(), ' ', current_database()) as server`;
    const session = { connection, server, lock: this.#lost === null ? 0 : await lockSession(connection) };
    if (this.#client.isCurrent(client)) this.#current = session;
    return session;
  }

  /** A connection that does not respond may never do so. The next attempt finds out what was committed. */
  #hangUp(silent: Promise<ReservedSession>): void {
    if (this.#session === silent) this.#log.error('the database does not respond, reconnecting');
    this.#replace(silent);
  }

  /** The database may be on another host by now. Others that used the same session may have replaced it already. */
  #replace(broken: Promise<ReservedSession> | null): void {
    if (this.#isClosed || this.#session !== broken) return;
    if (this.#current !== null) this.#lost?.note(this.#current);
    this.#client.replace();
    this.#session = null;
    this.#current = null;
  }
}

type ReservedSession = Session & Readonly<{ connection: ReservedSQL }>;

/** Any other error may have ended it. */
function leavesSession(error: unknown): boolean {
  return isRejection(error) || error instanceof NotEndedError;
}
