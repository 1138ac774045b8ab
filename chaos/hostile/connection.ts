/** A connection that sends any bytes and reports what came back. It reconnects when it has to. */
import type { Socket } from 'bun';
import { type Answer, AnswerReader } from './answer-reader.ts';
import type { HostileRequest } from './request.ts';

export type Exchange = Readonly<{
  answers: readonly Answer[];
  /** `left`: the client ended it on purpose. */
  ended: 'answered' | 'closed' | 'silent' | 'left' | 'nonsense' | 'not connected';
}>;

const patienceMs = 30_000;
/** Invalid HTTP may never get an answer. */
const brokenPatienceMs = 250;

export class HostileConnection {
  readonly #port: number;
  readonly #reader = new AnswerReader((answer) => this.#take(answer));
  #socket: Socket<undefined> | null = null;
  #unsent: Buffer | null = null;
  #request: HostileRequest | null = null;
  #answers: Answer[] = [];
  #receivedBytes = 0;
  #done: (exchange: Exchange) => void = () => undefined;

  /** What was sent on the same connection before, since that may be the cause of a failure. */
  previous: string | null = null;

  constructor(port: number) {
    this.#port = port;
  }

  async perform(number: number, request: HostileRequest): Promise<Exchange> {
    if (this.#socket === null && !(await this.#connect())) return { answers: [], ended: 'not connected' };
    const ended = Promise.withResolvers<Exchange>();
    this.#done = ended.resolve;
    this.#request = request;
    this.#answers = [];
    this.#receivedBytes = 0;
    this.#reader.isHeadOnly = request.isHeadOnly;
    const timer = setTimeout(
      () => this.#end('silent'),
      request.framing === 'sound' ? patienceMs : brokenPatienceMs,
    );
    this.#send(request.bytes);
    try {
      return await ended.promise;
    } finally {
      clearTimeout(timer);
      this.previous = this.#socket === null ? null : `${number} ${request.name}`;
    }
  }

  close(): void {
    this.#drop();
  }

  async #connect(): Promise<boolean> {
    try {
      const socket = await Bun.connect({
        hostname: '127.0.0.1',
        port: this.#port,
        socket: {
          data: (from, bytes) => {
            if (from === this.#socket) this.#read(bytes);
          },
          drain: (from) => {
            if (from === this.#socket && this.#unsent !== null) this.#send(this.#unsent);
          },
          close: (from) => {
            if (from === this.#socket) this.#closed();
          },
          error: (from) => {
            if (from === this.#socket) this.#closed();
          },
        },
      });
      this.#socket = socket;
      return true;
    } catch {
      return false;
    }
  }

  #send(bytes: Buffer): void {
    const written = this.#socket?.write(bytes) ?? 0;
    this.#unsent = written < bytes.length ? bytes.subarray(Math.max(written, 0)) : null;
    if (this.#unsent === null && this.#request?.leave === 'when sent') this.#end('left');
  }

  #read(bytes: Buffer): void {
    this.#receivedBytes += bytes.length;
    try {
      this.#reader.push(Buffer.from(bytes));
    } catch {
      this.#end('nonsense');
    }
    if (this.#request?.leave === 'when answered') this.#end('left');
  }

  #take(answer: Answer): void {
    this.#answers.push(answer);
    const request = this.#request;
    if (request === null || this.#answers.length < request.answers) return;
    // Nothing can follow a request that was answered before it was sent in full.
    if (!answer.isKeptAlive || request.framing === 'broken' || this.#unsent !== null) this.#drop();
    this.#resolve('answered');
  }

  #closed(): void {
    this.#reader.end();
    this.#end('closed');
  }

  /** None of its remaining bytes may reach the next request. */
  #end(ended: Exchange['ended']): void {
    if (this.#request === null) {
      if (ended === 'closed') this.#drop();
      return;
    }
    this.#drop();
    this.#resolve(ended);
  }

  #resolve(ended: Exchange['ended']): void {
    this.#request = null;
    this.#unsent = null;
    this.#done({ answers: this.#answers, ended });
  }

  #drop(): void {
    const socket = this.#socket;
    this.#socket = null;
    this.#reader.reset();
    socket?.terminate();
  }
}
