/**
 * A database client that is replaced when it breaks. Connections lost in a broken network never answer again, and after a
 * failover the database is elsewhere: `open` connects to where it is now. The users of the client notice, and ask for
 * another one.
 */
import type { SQL } from 'bun';

export class ReplaceableClient {
  readonly #open: () => SQL;
  readonly #finishMs: number;
  #current: SQL;
  /** Clients that were replaced and may still have queries running. */
  readonly #retired = new Set<SQL>();
  #isClosed = false;
  /** May be kept: each query goes to the client that is current at the time. */
  readonly sql: SQL;

  /** Queries that are still running on a replaced client get `finishMs` to finish. */
  constructor(open: () => SQL, finishMs = 0) {
    this.#open = open;
    this.#finishMs = finishMs;
    this.#current = open();
    this.sql = new Proxy((() => undefined) as unknown as SQL, {
      apply: (_, __, args) => Reflect.apply(this.#current as never, undefined, args),
      get: (_, name) => {
        const value: unknown = Reflect.get(this.#current, name);
        return typeof value === 'function' ? value.bind(this.#current) : value;
      },
    });
  }

  get current(): SQL {
    return this.#current;
  }

  /** False once it has been replaced or closed. */
  isCurrent(client: SQL): boolean {
    return !this.#isClosed && client === this.#current;
  }

  /** Opens another client for everything that follows. False when the broken one has been replaced already. */
  replace(broken: SQL = this.#current): boolean {
    if (!this.isCurrent(broken)) return false;
    this.#current = this.#open();
    this.#retired.add(broken);
    if (this.#finishMs === 0) this.#end(broken);
    else setTimeout(() => this.#end(broken), this.#finishMs).unref();
    return true;
  }

  async close(timeoutSeconds: number): Promise<void> {
    this.#isClosed = true;
    for (const old of this.#retired) this.#end(old);
    await this.#current.close({ timeout: timeoutSeconds });
  }

  #end(old: SQL): void {
    if (this.#retired.delete(old)) old.close({ timeout: 0 }).catch(() => undefined);
  }
}
