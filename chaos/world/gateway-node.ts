/** A gateway process on a fixed port that is started again whenever it ends, as a process manager would. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Subprocess } from 'bun';
import { type Environment, startGateway, statusOf } from './program.ts';

const readyDeadlineMs = 60_000;
const probeMs = 10;
/** A gateway waits only so long for its database at boot; another one, started right after it, would end too. */
const pauseAfterFailedStartMs = 50;

const support = join(import.meta.dir, '../../tests/support');
const alwaysLoaded = [join(support, 'shifted-clock.ts'), join(support, 'exports-up-to-now.ts')];

export class GatewayNode {
  readonly index: number;
  readonly port: number;
  readonly origin: string;
  readonly logFile: string;
  readonly #clockFile: string;
  readonly #preloads: readonly string[];
  readonly #words: readonly string[];
  readonly #environment: Environment;
  #process: Subprocess;
  #isStopping = false;
  #isKilled = false;
  #hasBeenReady = false;
  /** Starts that ended before the gateway was ready, because the database was away. */
  failedStarts = 0;
  /** Unrequested ends after it had been ready. */
  ownEnds = 0;

  /** The offset of its clock is in a file next to `logFile`. */
  constructor(
    index: number,
    port: number,
    environment: Environment,
    logFile: string,
    preloads: readonly string[],
    words: readonly string[],
  ) {
    this.index = index;
    this.port = port;
    this.origin = `http://127.0.0.1:${port}`;
    this.logFile = logFile;
    this.#clockFile = `${logFile}.clock`;
    this.#preloads = [...alwaysLoaded, ...preloads];
    this.#words = words;
    this.#environment = { ...environment, PORT: `${port}`, CLOCK_SHIFT_FILE: this.#clockFile };
    this.shiftClock(0);
    this.#process = this.#start();
  }

  get processId(): number {
    return this.#process.pid;
  }

  /** Whether the current process has been ready once, and so may have requests in progress. */
  get hasBeenReady(): boolean {
    return this.#hasBeenReady;
  }

  /** Kills with SIGKILL; the process is started again at once. */
  kill(): void {
    this.#isKilled = true;
    this.#hasBeenReady = false;
    this.#process.kill('SIGKILL');
  }

  /** Asks it to stop, as a deploy would, and waits until the next one is ready. Returns the exit code. */
  async restart(): Promise<number> {
    this.#isKilled = true;
    this.#hasBeenReady = false;
    const stopped = this.#process;
    stopped.kill('SIGTERM');
    const exitCode = await stopped.exited;
    await this.whenReady();
    return exitCode;
  }

  /** Until it is thawed it does nothing at all, and does not know. */
  freeze(): void {
    this.#process.kill('SIGSTOP');
  }

  thaw(): void {
    this.#process.kill('SIGCONT');
  }

  /** Its clock is off by this much from the next moment on. */
  shiftClock(ms: number): void {
    writeFileSync(this.#clockFile, `${ms}`);
  }

  async whenReady(): Promise<void> {
    const deadline = Date.now() + readyDeadlineMs;
    while (!(await this.#isReady())) {
      if (Date.now() > deadline) throw new Error(`A gateway does not become ready: see ${this.logFile}`);
      await Bun.sleep(probeMs);
    }
    this.#hasBeenReady = true;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#process.kill('SIGKILL');
    await this.#process.exited;
  }

  async #isReady(): Promise<boolean> {
    const asked = this.#process;
    const status = await statusOf(`${this.origin}/readyz`);
    return status === 200 && asked === this.#process && !this.#isKilled;
  }

  #start(): Subprocess {
    const started = startGateway(this.#environment, this.logFile, this.#preloads, this.#words);
    started.exited.then(() => this.#startAgain()).catch(() => undefined);
    return started;
  }

  async #startAgain(): Promise<void> {
    if (this.#isStopping) return;
    if (!this.#isKilled) {
      if (this.#hasBeenReady) this.ownEnds += 1;
      else this.failedStarts += 1;
      this.#hasBeenReady = false;
      await Bun.sleep(pauseAfterFailedStartMs);
    }
    this.#isKilled = false;
    if (!this.#isStopping) this.#process = this.#start();
  }
}
