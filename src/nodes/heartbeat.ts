/** Runs the thread that renews the lease, shows it that the main thread is alive, and restarts it if it ends. */
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { SQL } from 'bun';
import { leaseMs } from '../lib/lease.ts';
import type { Log } from '../lib/log.ts';
import { rootFolder } from '../lib/root-folder.ts';
import { within } from '../lib/within.ts';

export type LeaseTimings = Readonly<{
  /** How long a node may be silent before it counts as dead. */
  leaseMs: number;
  beatMs: number;
  /** How long the database may take to answer before another connection is tried. */
  patienceMs: number;
  /**
   * How long the heartbeat continues without a sign of life from the main thread. A busy one comes back and settles what it
   * has open; one that is stuck must not keep other nodes from releasing it.
   */
  silenceMs: number;
}>;

export const defaultTimings: LeaseTimings = {
  leaseMs,
  beatMs: 2_000,
  patienceMs: 4_000,
  silenceMs: 60_000,
};

export type Node = Readonly<{ id: string; name: string }>;

/** With what a migration has to know about it. */
export type VersionedNode = Node & Readonly<{ version: string; newestMigration: number }>;

/** The main thread's clock, and what it reports to other nodes. */
export type SignOfLife = Readonly<{ nowMs: number; report: string }>;

export type Beat = Readonly<{
  /** When the database was asked, by the main thread's clock. */
  askedAtMs: number;
  /** The database's clock when it answered. */
  databaseMs: number;
  /** How long before that the lease was last renewed, by the database's clock. */
  gapMs: number;
  /** What each live node reported of its calls to providers, in the same order on every node, and where this one is. */
  calls: readonly unknown[];
  place: number;
}>;

export type HeartbeatTask = Readonly<{
  /** The database is at one of them; after a failure the next one is tried. */
  hosts: readonly SQL.Options[];
  node: VersionedNode;
  timings: LeaseTimings;
  signOfLife: SignOfLife;
}>;

export type HeartbeatCommand = Readonly<{ kind: 'sign'; sign: SignOfLife } | { kind: 'stop' }>;

export type HeartbeatReport = Readonly<{ kind: 'beat'; beat: Beat } | { kind: 'failed'; error: unknown }>;

type Observer = Readonly<{
  signOfLife: () => SignOfLife;
  onBeat: (beat: Beat) => void;
  /** The lease could not be renewed. It will be retried. */
  onTrouble: () => void;
}>;

export type Heartbeat = Readonly<{ stop: () => Promise<void> }>;

/** Resolves when the lease has been renewed for the first time. */
export async function startHeartbeat(
  task: Omit<HeartbeatTask, 'signOfLife'>,
  { signOfLife, onBeat, onTrouble }: Observer,
  log: Log,
): Promise<Heartbeat> {
  const { beatMs, patienceMs } = task.timings;
  const nodeId = task.node.id;
  const first = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  let isStopped = false;
  let thread = launch();
  const signs = setInterval(() => send({ kind: 'sign', sign: signOfLife() }), beatMs);

  function launch(): Worker {
    const launched = new Worker(join(rootFolder, 'src/nodes/heartbeat-worker.ts'), {
      workerData: { ...task, signOfLife: signOfLife() } satisfies HeartbeatTask,
    });
    launched.on('message', onReport);
    launched.on('error', (error) => log.error('the heartbeat thread failed', { nodeId, error }));
    launched.on('exit', onExit);
    // Listening for messages would keep the process alive, so this comes last.
    launched.unref();
    return launched;
  }

  function send(command: HeartbeatCommand): void {
    thread.postMessage(command);
  }

  function onReport(report: HeartbeatReport): void {
    if (report.kind === 'beat') {
      onBeat(report.beat);
      first.resolve();
      return;
    }
    log.warn('heartbeat failed', { nodeId, error: report.error });
    onTrouble();
    first.reject(report.error);
  }

  function onExit(): void {
    if (isStopped) {
      ended.resolve();
      return;
    }
    log.error('the heartbeat thread ended, restarting it', { nodeId });
    onTrouble();
    first.reject(new Error('The heartbeat thread ended.'));
    setTimeout(() => {
      if (isStopped) ended.resolve();
      else thread = launch();
    }, beatMs);
  }

  /** The thread is not terminated, because that has crashed whole processes. It ends by itself. */
  async function stop(): Promise<void> {
    isStopped = true;
    clearInterval(signs);
    send({ kind: 'stop' });
    try {
      await within(patienceMs, ended.promise);
    } catch (error) {
      log.warn('the heartbeat thread does not end', { nodeId, error });
    }
  }

  try {
    await first.promise;
  } catch (error) {
    await stop();
    throw error;
  }
  return { stop };
}
