/**
 * Sessions with the database that were lost. What was sent on one may still be executed long after: nothing that depends on
 * whether it was may be sent on another session before the lost one has ended. Each session keeps an advisory lock of its
 * own, by which it is found.
 */
import type { SQL } from 'bun';

/**
 * `server` tells servers apart, and databases on them: after a failover, connections may lead to different ones. `lock` is the
 * number of a lock that the session keeps for as long as it lives; 0 if nobody has to find it.
 */
export type Session = Readonly<{ connection: SQL; server: string; lock: number }>;

/** Tells these locks from others, such as those of migrations. */
const lockClass = 0x70_6c_67;
const stopMs = 1_000;

/** A lost session goes on. It says nothing about the one on which it was to be ended. */
export class NotEndedError extends Error {
  override readonly name = 'NotEndedError';

  constructor() {
    super('A lost session with the database has not ended yet.');
  }
}

export class LostSessions {
  readonly #lost = new Set<Pick<Session, 'server' | 'lock'>>();

  get count(): number {
    return this.#lost.size;
  }

  note({ server, lock }: Session): void {
    this.#lost.add({ server, lock });
  }

  /**
   * Throws unless all of them have ended that are with this server. One with another server stays noted: a session may lead to
   * a standby for a moment, and to the same server again.
   */
  async stop({ connection, server }: Session): Promise<void> {
    for (const lost of this.#lost) {
      if (lost.server !== server) continue;
      if (!(await hasStopped(connection, lost.lock))) throw new NotEndedError();
      this.#lost.delete(lost);
    }
  }
}

/** Returns the number of the lock. */
export async function lockSession(connection: SQL): Promise<number> {
  for (;;) {
    const [lock = 0] = crypto.getRandomValues(new Uint32Array(1)).map((bits) => bits >>> 1);
    const [{ isOurs }] = await connection<[{ isOurs: boolean }]>`
      select pg_try_advisory_lock(${lockClass}::integer, ${lock}::integer) as "isOurs"`;
    if (isOurs) return lock;
  }
}

/** Whether nobody has the lock any more. Whoever has it is ended. */
async function hasStopped(connection: SQL, lock: number): Promise<boolean> {
  const endHolder = () => connection`
    select pg_terminate_backend(pid, ${stopMs}) from pg_locks
    where locktype = 'advisory' and classid = ${lockClass}::integer::oid and objid = ${lock}::integer::oid and objsubid = 2
      and database = (select oid from pg_database where datname = current_database())`;
  // What ending it returns says little: it may have ended by itself at that moment.
  return (await endHolder()).length === 0 || (await endHolder()).length === 0;
}
