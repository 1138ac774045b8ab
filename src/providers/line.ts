/**
 * The line to one provider. fetch does not tell when it has connected, so a provider that has not been heard from
 * lately is dialled beside the call: if nobody picks up in time, the call is over long before its first byte is due.
 */
import { connect } from 'node:net';

/** Who has answered within this time is taken to be there: calls to a busy provider cost nothing extra. */
const heardForMs = 10_000;
/** A connection that was not made by then is tried anew: the system itself would wait ever longer between its tries. */
const knockMs = 1_000;

const nothingToStop = () => undefined;

export class Line {
  readonly #host: string;
  readonly #port: number;
  /** False where calls leave through a proxy: the provider's own address may not be reachable from here then. */
  readonly #isDirect: boolean;
  #heardAtMs = Number.NEGATIVE_INFINITY;
  #watching = 0;
  #dialling: Promise<void> | null = null;

  constructor(baseUrl: string, isDirect: boolean) {
    const { hostname, port, protocol } = new URL(baseUrl);
    this.#host = hostname.replace(/^\[|\]$/g, '');
    this.#port = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
    this.#isDirect = isDirect;
  }

  heard(): void {
    this.#heardAtMs = performance.now();
  }

  /** Calls back when it turns out that nobody picks up, unless it is told before that nobody wants to know. */
  watch(connectMs: number, onSilence: () => void): () => void {
    if (!this.#isDirect || performance.now() - this.#heardAtMs < heardForMs) return nothingToStop;
    this.#watching += 1;
    let isWatching = true;
    const stop = () => {
      if (isWatching) this.#watching -= 1;
      isWatching = false;
      clearTimeout(timer);
    };
    const timer = setTimeout(() => {
      stop();
      onSilence();
    }, connectMs);
    this.#dialling ??= this.#dial();
    this.#dialling.then(stop, stop);
    return stop;
  }

  /** One for all who watch: resolves as soon as anyone is there. */
  async #dial(): Promise<void> {
    while (this.#watching > 0 && !(await this.#knock()));
    this.#dialling = null;
  }

  /** Whether there was any reply. A refusal is one too: the call itself fails in the same way and says so. */
  #knock(): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = connect({ host: this.#host, port: this.#port });
      socket.unref();
      const end = (isReply: boolean) => {
        clearTimeout(timer);
        socket.destroy();
        resolve(isReply);
      };
      const timer = setTimeout(() => end(false), knockMs);
      timer.unref();
      socket.once('connect', () => {
        this.heard();
        end(true);
      });
      socket.once('error', () => end(true));
    });
  }
}
