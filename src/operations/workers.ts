/**
 * The worker processes of a gateway with WORKERS set, as their parent sees them: each runs the same program on the same
 * port. One that ends without being asked is replaced, after a pause that grows while it keeps ending.
 */
import type { Subprocess } from 'bun';
import { type Config, workerEnvironment } from '../config.ts';
import { backOffMs } from '../lib/back-off.ts';
import type { Log } from '../lib/log.ts';
import { OperatorError } from '../lib/operator-error.ts';
import type { ParentMessage, WorkerMessage } from './worker.ts';

export type Workers = Readonly<{
  /** Resolves when all of them listen; rejects when one of them ended before it did. */
  listening: Promise<void>;
  /** They read the catalogue and their secrets again. */
  reload: () => void;
  /** They end their drain now. */
  hurry: () => void;
  /** They drain. Resolves when all of them have ended. */
  stop: () => Promise<void>;
  /** The same without waiting for open requests. */
  end: () => Promise<void>;
}>;

type Options = Readonly<{
  config: Pick<Config, 'workers' | 'drain'>;
  port: number;
  /** Where the sandbox is; started at the first request for it. */
  sandboxUrl: () => Promise<string>;
  log: Log;
}>;

const firstPauseMs = 100;
const maxPauseMs = 10_000;
/** A worker that ran for this long had not just failed to start. */
const soundMs = 10_000;

type Worker = { readonly number: number; child: Subprocess | null; isListening: boolean; failures: number };

export function startWorkers({ config, port, sandboxUrl, log }: Options): Workers {
  const workers = Array.from(
    { length: config.workers },
    (_, index): Worker => ({ number: index + 1, child: null, isListening: false, failures: 0 }),
  );
  const endings = new Set<Promise<unknown>>();
  let isStopping = false;

  /** Resolves with whether it listened before it ended. */
  function launch(worker: Worker): Promise<boolean> {
    if (isStopping) return Promise.resolve(false);
    const listening = Promise.withResolvers<boolean>();
    const startedAtMs = performance.now();
    const child = Bun.spawn([...thisProgram(), ...process.argv.slice(2)], {
      env: workerEnvironment(config, worker.number, port),
      stdio: ['ignore', 'inherit', 'inherit'],
      // In a session of its own: Ctrl-C in the terminal reaches the parent alone, which passes it on.
      detached: true,
      ipc: (message: WorkerMessage) => {
        if (message.kind === 'listening') {
          worker.isListening = true;
          listening.resolve(true);
        } else answerSandbox(child).catch(() => undefined);
      },
    });
    worker.child = child;
    const ended = child.exited.then((status) => {
      worker.child = null;
      worker.isListening = false;
      listening.resolve(false);
      if (performance.now() - startedAtMs > soundMs) worker.failures = 0;
      if (!isStopping) log.error('a worker ended', { worker: worker.number, status });
    });
    endings.add(ended);
    ended.finally(() => endings.delete(ended)).catch(() => undefined);
    return listening.promise;
  }

  async function answerSandbox(child: Subprocess): Promise<void> {
    const url = await sandboxUrl().catch(() => null);
    send(child, { kind: 'sandbox', url });
  }

  async function keepRunning(worker: Worker): Promise<void> {
    for (;;) {
      await worker.child?.exited;
      if (isStopping) return;
      await Bun.sleep(backOffMs(worker.failures, firstPauseMs, maxPauseMs));
      worker.failures += 1;
      if (await launch(worker)) log.info('a worker was replaced', { worker: worker.number });
    }
  }

  function sendAll(message: ParentMessage): void {
    for (const { child } of workers) send(child, message);
  }

  async function stop(): Promise<void> {
    isStopping = true;
    for (const { child, isListening } of workers) {
      // One that is still starting may not listen to messages yet, and has nothing to lose.
      if (isListening) send(child, { kind: 'stop' });
      else child?.kill('SIGTERM');
    }
    await Promise.all(endings);
  }

  /** The first one starts alone: what keeps it from starting keeps the others too. */
  async function startAll(): Promise<void> {
    const [first, ...rest] = workers;
    const areListening =
      first !== undefined && (await launch(first)) && (await Promise.all(rest.map(launch))).every(Boolean);
    if (!areListening) throw new OperatorError('A worker did not start; it printed why.');
    for (const worker of workers)
      keepRunning(worker).catch((error: unknown) =>
        log.error('a worker is no longer watched', { worker: worker.number, error }),
      );
  }

  const hurry = () => sendAll({ kind: 'hurry' });
  // The parent leaves last, also when it is made to leave at once.
  process.on('exit', () => {
    for (const { child } of workers) child?.kill('SIGKILL');
  });
  return {
    listening: startAll(),
    reload: () => sendAll({ kind: 'reload' }),
    hurry,
    stop,
    end: async () => {
      hurry();
      await stop();
    },
  };
}

/** A single executable has its script inside. */
function thisProgram(): string[] {
  return [process.execPath, ...process.execArgv, ...(Bun.isStandaloneExecutable ? [] : [Bun.main])];
}

function send(child: Subprocess | null, message: ParentMessage): void {
  try {
    child?.send(message);
  } catch {
    // It is ending. The others still have to get the message.
  }
}
