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
/** A worker that ran for this long did not fail at its start. */
const soundMs = 10_000;

export function startWorkers(options: Options): Workers {
  const workers = Array.from(
    { length: options.config.workers },
    (_, index) => new Worker(index + 1, options),
  );
  const sendAll = (message: ParentMessage) => {
    for (const worker of workers) worker.send(message);
  };
  const hurry = () => sendAll({ kind: 'hurry' });
  const stop = async () => {
    await Promise.all(workers.map((worker) => worker.stop()));
  };
  // The parent leaves last, even when it has to leave at once.
  process.on('exit', () => {
    for (const worker of workers) worker.kill();
  });
  return {
    listening: startAll(workers),
    reload: () => sendAll({ kind: 'reload' }),
    hurry,
    stop,
    end: async () => {
      hurry();
      await stop();
    },
  };
}

/** The first one starts alone: whatever keeps it from starting would stop the others too. */
async function startAll(workers: readonly Worker[]): Promise<void> {
  const [first, ...rest] = workers;
  const areListening =
    first !== undefined &&
    (await first.launch()) &&
    (await Promise.all(rest.map((worker) => worker.launch()))).every(Boolean);
  if (!areListening) throw new OperatorError('A worker did not start; it printed why.');
  for (const worker of workers) worker.keepRunning();
}

/** One worker, whichever process is at its place at the moment. */
class Worker {
  readonly #number: number;
  readonly #options: Options;
  #child: Subprocess | null = null;
  #ended = Promise.resolve();
  #isListening = false;
  #isStopping = false;
  #failures = 0;

  /** They are numbered from 1. */
  constructor(number: number, options: Options) {
    this.#number = number;
    this.#options = options;
  }

  /** Resolves with whether it listened before it ended. */
  launch(): Promise<boolean> {
    if (this.#isStopping) return Promise.resolve(false);
    const listening = Promise.withResolvers<boolean>();
    const startedAtMs = performance.now();
    const { config, port, log } = this.#options;
    const child = Bun.spawn([...thisProgram(), ...process.argv.slice(2)], {
      env: workerEnvironment(config, this.#number, port),
      stdio: ['ignore', 'inherit', 'inherit'],
      // In its own session: Ctrl-C in the terminal reaches the parent alone, which passes it on.
      detached: true,
      ipc: (message: WorkerMessage) => {
        if (message.kind === 'listening') {
          this.#isListening = true;
          listening.resolve(true);
        } else this.#answerSandbox(child).catch(() => undefined);
      },
    });
    this.#child = child;
    this.#ended = child.exited.then((status) => {
      this.#child = null;
      this.#isListening = false;
      listening.resolve(false);
      if (performance.now() - startedAtMs > soundMs) this.#failures = 0;
      if (!this.#isStopping) log.error('a worker ended', { worker: this.#number, status });
    });
    return listening.promise;
  }

  async #answerSandbox(child: Subprocess): Promise<void> {
    const url = await this.#options.sandboxUrl().catch(() => null);
    send(child, { kind: 'sandbox', url });
  }

  /** Replaces it whenever it has ended without being asked. */
  keepRunning(): void {
    this.#replaceForever().catch((error: unknown) =>
      this.#options.log.error('a worker is no longer watched', { worker: this.#number, error }),
    );
  }

  async #replaceForever(): Promise<void> {
    for (;;) {
      await this.#ended;
      if (this.#isStopping) return;
      await Bun.sleep(backOffMs(this.#failures, firstPauseMs, maxPauseMs));
      this.#failures += 1;
      if (await this.launch()) this.#options.log.info('a worker was replaced', { worker: this.#number });
    }
  }

  send(message: ParentMessage): void {
    send(this.#child, message);
  }

  /** It drains. Resolves when it has ended. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    // One that is still starting may not listen to messages yet, and has nothing to lose.
    if (this.#isListening) this.send({ kind: 'stop' });
    else this.#child?.kill('SIGTERM');
    await this.#ended;
  }

  kill(): void {
    this.#child?.kill('SIGKILL');
  }
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
