/** A connection to the database for the ledger alone. One that is lost or silent is replaced. */
import type { ReservedSQL, SQL } from 'bun';
import { Deadlines } from '../lib/deadlines.ts';
import type { Log } from '../lib/log.ts';
import { isConflict, isIntegrityError } from './database-error.ts';

const deadlines = new Deadlines();

export class Writer {
  readonly #open: () => SQL;
  readonly #settings: string;
  readonly #silenceMs: number;
  readonly #log: Log;
  #client: SQL;
  #connection: Promise<ReservedSQL> | null = null;
  /** The same, once it is there. */
  #current: ReservedSQL | null = null;
  #isClosed = false;

  /** `settings` are those of the session. The database must not be silent for longer than `silenceMs`. */
  constructor(open: () => SQL, settings: string, silenceMs: number, log: Log) {
    this.#open = open;
    this.#settings = settings;
    this.#silenceMs = silenceMs;
    this.#log = log;
    this.#client = open();
  }

  /** The connection, unless there is none at the moment. */
  get current(): SQL | null {
    return this.#current;
  }

  /** One connection for all of `work`: when it is lost, the work must fail, not continue on another one. */
  async use<Result>(work: (connection: SQL) => Promise<Result>): Promise<Result> {
    const silence = deadlines.start(this.#silenceMs, () => this.#hangUp());
    this.#connection ??= this.#reserve();
    const reserved = this.#connection;
    try {
      return await work(await reserved);
    } catch (error) {
      // Only these leave the session as it was. Whatever else it is, the session may have ended with it.
      if (!isIntegrityError(error) && !isConflict(error)) this.#replace(reserved);
      throw error;
    } finally {
      silence.clear();
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const connection = await this.#connection?.catch(() => null);
    await connection?.release();
    await this.#client.close({ timeout: 5 });
  }

  async #reserve(): Promise<ReservedSQL> {
    const client = this.#client;
    const connection = await client.reserve();
    await connection.unsafe(this.#settings);
    if (client === this.#client) this.#current = connection;
    return connection;
  }

  /** A connection that does not respond may never do so. The next attempt finds out what was committed. */
  #hangUp(): void {
    this.#log.error('the database does not respond, reconnecting');
    this.#replace(this.#connection);
  }

  /** The database may be on another host by now. Others that used the same connection may have replaced it already. */
  #replace(broken: Promise<ReservedSQL> | null): void {
    if (this.#isClosed || this.#connection !== broken) return;
    this.#client.close({ timeout: 0 }).catch(() => undefined);
    this.#client = this.#open();
    this.#connection = null;
    this.#current = null;
  }
}
