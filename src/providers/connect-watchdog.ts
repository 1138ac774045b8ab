/**
 * Notices when a provider cannot be connected to. fetch does not report when it has connected, so a provider that has not
 * responded lately gets a test connection at the same time as the call: if that fails to connect in time, the call ends
 * long before its first byte is due.
 */
import { connect } from 'node:net';
import { Deadlines } from '../lib/deadlines.ts';

/** A provider that responded within this time counts as reachable, so calls to a busy one cost nothing extra. */
const reachableForMs = 10_000;
/** A test connection is retried after this long, because the system waits ever longer between its own attempts. */
const probeMs = 1_000;

const deadlines = new Deadlines();

const nothingToStop = () => undefined;

export class ConnectWatchdog {
  readonly #host: string;
  readonly #port: number;
  /** False where calls go through a proxy: then the provider's own address may not be reachable from here. */
  readonly #isDirect: boolean;
  #heardAtMs = Number.NEGATIVE_INFINITY;
  #watching = 0;
  #probing: Promise<void> | null = null;

  constructor(baseUrl: string, isDirect: boolean) {
    const { hostname, port, protocol } = new URL(baseUrl);
    this.#host = hostname.replace(/^\[|\]$/g, '');
    this.#port = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
    this.#isDirect = isDirect;
  }

  heard(): void {
    this.#heardAtMs = performance.now();
  }

  /** Calls `onSilence` unless there is a connection in time. Returns a function that stops the watch. */
  watch(connectMs: number, onSilence: () => void): () => void {
    if (!this.#isDirect || performance.now() - this.#heardAtMs < reachableForMs) return nothingToStop;
    this.#watching += 1;
    let isWatching = true;
    const stop = () => {
      if (isWatching) this.#watching -= 1;
      isWatching = false;
      deadline.clear();
    };
    const deadline = deadlines.start(connectMs, () => {
      stop();
      onSilence();
    });
    this.#probing ??= this.#probeUntilReply();
    this.#probing.then(stop, stop);
    return stop;
  }

  /** Shared by all watched calls: resolves with the first reply. */
  async #probeUntilReply(): Promise<void> {
    while (this.#watching > 0 && !(await this.#probe()));
    this.#probing = null;
  }

  /** Whether there was any reply. A refused connection is one too: the call itself fails in the same way. */
  #probe(): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = connect({ host: this.#host, port: this.#port });
      socket.unref();
      const end = (isReply: boolean) => {
        clearTimeout(timer);
        socket.destroy();
        resolve(isReply);
      };
      const timer = setTimeout(() => end(false), probeMs);
      timer.unref();
      socket.once('connect', () => {
        this.heard();
        end(true);
      });
      socket.once('error', () => end(true));
    });
  }
}
