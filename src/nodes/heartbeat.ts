/** Runs the thread that renews the lease, shows it that the main thread is alive, and restarts it if it ends. */
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { SQL } from 'bun';
import { leaseMs } from '../lib/lease-duration.ts';
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
   * How long the heartbeat continues without a sign of life from the main thread. A busy thread comes back and settles
   * what it has open; a stuck one must not keep other nodes from closing that.
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

/** A node with what a migration has to know about it. */
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
  /** The lease could not be renewed. That will be retried. */
  onTrouble: () => void;
}>;

/** Resolves when the lease has been renewed for the first time. */
export async function startHeartbeat(
  task: Omit<HeartbeatTask, 'signOfLife'>,
  observer: Observer,
  log: Log,
): Promise<Pick<Heartbeat, 'stop'>> {
  const heartbeat = new Heartbeat(task, observer, log);
  try {
    await heartbeat.renewed;
    return heartbeat;
  } catch (error) {
    await heartbeat.stop();
    throw error;
  }
}

class Heartbeat {
  readonly #task: Omit<HeartbeatTask, 'signOfLife'>;
  readonly #observer: Observer;
  readonly #log: Log;
  readonly #first = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  readonly #signs: ReturnType<typeof setInterval>;
  #thread: Worker;
  #isStopped = false;

  constructor(task: Omit<HeartbeatTask, 'signOfLife'>, observer: Observer, log: Log) {
    this.#task = task;
    this.#observer = observer;
    this.#log = log;
    this.#thread = this.#launch();
    this.#signs = setInterval(
      () => this.#send({ kind: 'sign', sign: observer.signOfLife() }),
      task.timings.beatMs,
    );
  }

  /** Resolves with the first renewal, or rejects if that fails. */
  get renewed(): Promise<void> {
    return this.#first.promise;
  }

  /** The thread is not terminated, because that has crashed whole processes. It ends by itself. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#signs);
    this.#send({ kind: 'stop' });
    try {
      await within(this.#task.timings.patienceMs, this.#ended.promise);
    } catch (error) {
      this.#log.warn('the heartbeat thread does not end', { nodeId: this.#task.node.id, error });
    }
  }

  #launch(): Worker {
    const thread = new Worker(join(rootFolder, 'src/nodes/heartbeat-worker.ts'), {
      workerData: { ...this.#task, signOfLife: this.#observer.signOfLife() } satisfies HeartbeatTask,
    });
    thread.on('message', (report: HeartbeatReport) => this.#onReport(report));
    thread.on('error', (error) =>
      this.#log.error('the heartbeat thread failed', { nodeId: this.#task.node.id, error }),
    );
    thread.on('exit', () => this.#onExit());
    // Listening for messages would keep the process alive, so this comes last.
    thread.unref();
    return thread;
  }

  #send(command: HeartbeatCommand): void {
    this.#thread.postMessage(command);
  }

  #onReport(report: HeartbeatReport): void {
    if (report.kind === 'beat') {
      this.#observer.onBeat(report.beat);
      this.#first.resolve();
      return;
    }
    this.#log.warn('heartbeat failed', { nodeId: this.#task.node.id, error: report.error });
    this.#observer.onTrouble();
    this.#first.reject(report.error);
  }

  #onExit(): void {
    if (this.#isStopped) {
      this.#ended.resolve();
      return;
    }
    this.#log.error('the heartbeat thread ended, restarting it', { nodeId: this.#task.node.id });
    this.#observer.onTrouble();
    this.#first.reject(new Error('The heartbeat thread ended.'));
    setTimeout(() => {
      if (this.#isStopped) this.#ended.resolve();
      else this.#thread = this.#launch();
    }, this.#task.timings.beatMs);
  }
}
