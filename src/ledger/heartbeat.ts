/** Runs the thread that renews the lease, tells it that the main thread lives, and starts it again if it ends. */
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { SQL } from 'bun';
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
   * For how long the heartbeat goes on without a sign of the main thread. One that is busy comes back and settles what
   * it has open; one that is stuck for good must not keep others from releasing it.
   */
  silenceMs: number;
}>;

export const defaultTimings: LeaseTimings = {
  leaseMs: 10_000,
  beatMs: 2_000,
  patienceMs: 4_000,
  silenceMs: 60_000,
};

export type Node = Readonly<{ id: string; name: string }>;

/** What the main thread says of itself: the time by its own clock, and what the others are to know of the node. */
export type SignOfLife = Readonly<{ nowMs: number; report: string }>;

export type Beat = Readonly<{
  /** When the database was asked, by the main thread's clock. */
  askedAtMs: number;
  /** The database's clock when it answered. */
  databaseMs: number;
  /** How long before that the lease was last renewed, by the database's clock. */
  gapMs: number;
}>;

export type HeartbeatTask = Readonly<{
  connection: SQL.Options;
  node: Node;
  timings: LeaseTimings;
  signOfLife: SignOfLife;
}>;

export type HeartbeatOrder = Readonly<{ kind: 'sign'; sign: SignOfLife } | { kind: 'stop' }>;

export type HeartbeatNews = Readonly<{ kind: 'beat'; beat: Beat } | { kind: 'failed'; error: unknown }>;

type Observer = Readonly<{
  signOfLife: () => SignOfLife;
  onBeat: (beat: Beat) => void;
  /** The lease could not be renewed; it is tried again. */
  onTrouble: () => void;
}>;

export type Heartbeat = Readonly<{ stop: () => Promise<void> }>;

/** Comes back when the lease has been renewed for the first time. */
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
  const signs = setInterval(() => order({ kind: 'sign', sign: signOfLife() }), beatMs);

  function launch(): Worker {
    const launched = new Worker(join(rootFolder, 'src/ledger/heartbeat-worker.ts'), {
      workerData: { ...task, signOfLife: signOfLife() } satisfies HeartbeatTask,
    });
    launched.on('message', hear);
    launched.on('error', (error) => log.error('the heartbeat thread failed', { nodeId, error }));
    launched.on('exit', onExit);
    // Listening for messages would keep the process alive, so this comes last.
    launched.unref();
    return launched;
  }

  function order(message: HeartbeatOrder): void {
    thread.postMessage(message);
  }

  function hear(news: HeartbeatNews): void {
    if (news.kind === 'beat') {
      onBeat(news.beat);
      first.resolve();
      return;
    }
    log.warn('heartbeat failed', { nodeId, error: news.error });
    onTrouble();
    first.reject(news.error);
  }

  function onExit(): void {
    if (isStopped) {
      ended.resolve();
      return;
    }
    log.error('the heartbeat thread ended and is started again', { nodeId });
    onTrouble();
    first.reject(new Error('The heartbeat thread ended.'));
    setTimeout(() => {
      if (isStopped) ended.resolve();
      else thread = launch();
    }, beatMs);
  }

  /** The thread ends by itself: to end it by force has crashed whole processes. */
  async function stop(): Promise<void> {
    isStopped = true;
    clearInterval(signs);
    order({ kind: 'stop' });
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
