/**
 * Keeps the PostgreSQL that comes with the checkout running while any process uses it. It outlives the process that
 * started it, so that a gateway that was killed finds it running when it starts again. Each process that uses it holds a
 * shared advisory lock on its own connection. The last one to leave stops the server; one that loses its connection takes
 * the lock again, and restarts the server if it is gone.
 */
import { SQL } from 'bun';
import type { Log } from '../lib/log.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { type Cluster, openCluster, type SocketConnection } from './cluster.ts';
import { leftoverEnder } from './leftover-processes.ts';
import { startServer, stopServer } from './postmaster.ts';

type EmbeddedServer = Readonly<{
  connection: SocketConnection;
  /** Stops the server unless another process still uses it. */
  release: () => Promise<void>;
}>;

type Presence = Readonly<{ sql: SQL; lost: Promise<void> }>;

/** A server that answers, if only with an error, may be recovering from a crash and gets more time. */
const readyDeadlineMs = 60_000;
const answerDeadlineMs = 10_000;
const retryMs = 50;
const retryAfterFailureMs = 1_000;
const presenceLock = 7_012_018_001;

export async function acquireEmbeddedServer(dataFolder: string, log?: Log): Promise<EmbeddedServer> {
  const cluster = openCluster(dataFolder, () =>
    log?.info('creating the embedded database', { folder: dataFolder }),
  );
  const first = await arrive(cluster, log);
  let isReleased = false;
  /** Null when this process released the server before it was back. */
  let current: Promise<Presence | null> = Promise.resolve(first);

  async function keep(): Promise<void> {
    for (let presence: Presence | null = first; presence !== null; presence = await current) {
      await presence.lost;
      if (isReleased) return;
      log?.warn('the embedded database was lost, reconnecting');
      current = arriveAgain();
      await presence.sql.close({ timeout: 0 });
    }
  }

  async function arriveAgain(): Promise<Presence | null> {
    while (!isReleased) {
      try {
        return await arrive(cluster, log);
      } catch (error) {
        log?.error('the embedded database is still unavailable', { error });
        await Bun.sleep(retryAfterFailureMs);
      }
    }
    return null;
  }

  keep().catch((error: unknown) => log?.error('the embedded database is no longer watched', { error }));
  return {
    connection: cluster.connection,
    release: async () => {
      isReleased = true;
      const presence = await current;
      if (presence) await leave(cluster, presence.sql);
    },
  };
}

/** Starts the server unless it is running, and takes the shared lock. */
async function arrive(cluster: Cluster, log?: Log): Promise<Presence> {
  const endLeftover = leftoverEnder(cluster.folder, log);
  const startedAtMs = performance.now();
  let answeredAtMs = startedAtMs;
  let reason = 'it does not answer';
  for (;;) {
    const presence = announcePresence(cluster);
    try {
      await presence.sql`select pg_advisory_lock_shared(${presenceLock})`;
      return presence;
    } catch (error) {
      await presence.sql.close({ timeout: 0 });
      if (isAnswer(error)) {
        answeredAtMs = performance.now();
        reason = error.message;
      } else {
        const failure = await startServer(cluster);
        if (failure !== null) {
          reason = failure;
          // On a busy machine that alone may have used up the time.
          if (endLeftover()) answeredAtMs = performance.now();
        }
      }
    }
    const nowMs = performance.now();
    if (nowMs - startedAtMs > readyDeadlineMs || nowMs - answeredAtMs > answerDeadlineMs)
      throw new OperatorError(
        `The embedded PostgreSQL does not start: ${reason}. Its log is ${cluster.logFile}.`,
      );
    await Bun.sleep(retryMs);
  }
}

function announcePresence({ connection }: Cluster): Presence {
  const { promise: lost, resolve } = Promise.withResolvers<void>();
  const sql = new SQL({
    adapter: 'postgres',
    ...connection,
    max: 1,
    connectionTimeout: 5,
    connection: { application_name: 'tollgate-presence' },
    onclose: () => resolve(),
  });
  return { sql, lost };
}

/** A server that is starting or stopping says so. Starting another one would not help. */
function isAnswer(error: unknown): error is Error {
  return error instanceof SQL.PostgresError && error.code === 'ERR_POSTGRES_SERVER_ERROR';
}

/** The exclusive lock is free only when no other process is present, and while it is held none can arrive. */
async function leave(cluster: Cluster, presence: SQL): Promise<void> {
  try {
    await presence`select pg_advisory_unlock_shared(${presenceLock})`;
    const [row] = await presence<[{ alone: boolean }]>`select pg_try_advisory_lock(${presenceLock}) as alone`;
    if (row.alone) await stopServer(cluster);
  } catch {
    // The server is already gone.
  } finally {
    await presence.close({ timeout: 0 });
  }
}
