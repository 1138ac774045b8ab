/**
 * A response that is written chunk by chunk, no faster than the client reads. A client that disconnects or stops reading
 * is not a failure: the writer goes on without it.
 */
import { Deadlines } from '../lib/deadlines.ts';

/** A client that reads nothing for this long counts as gone, whatever the state of its connection. */
const stalledMs = 30_000;
/** As long as a provider's whole answer may be. */
const maxTranscript = 33_554_432;
export const stallDeadlines = new Deadlines();

export class ClientStream {
  /** Null for a client that left before anything could be written. */
  readonly #controller: ReadableStreamDirectController | null;
  #isGone: boolean;
  #transcript: string | null = null;
  #isTooLong = false;
  #isStalled = false;
  /** Ends the wait for a client that does not keep up. */
  #stopWaiting: (() => void) | null = null;

  constructor(controller: ReadableStreamDirectController | null) {
    this.#controller = controller;
    this.#isGone = controller === null;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Whether it stopped reading, so that its connection is still open. */
  get isStalled(): boolean {
    return this.#isStalled;
  }

  /** Records what is written from now on, whether the client reads it or not. */
  record(): void {
    this.#transcript ??= '';
  }

  /** What was written since `record`; null without it, and when it was too long. */
  get transcript(): string | null {
    return this.#isTooLong ? null : this.#transcript;
  }

  /** Returns at once when the client keeps up; otherwise resolves when there is room again or the client has gone. */
  write(text: string): undefined | Promise<void> {
    if (this.#transcript !== null) this.#keep(this.#transcript, text);
    if (this.#isGone || this.#controller === null) return undefined;
    const taken = this.#controller.write(text);
    const flushed = this.#controller.flush();
    if (typeof taken === 'number' && typeof flushed === 'number') return undefined;
    return this.#waitFor(Promise.all([taken, flushed]));
  }

  #keep(transcript: string, text: string): void {
    this.#isTooLong ||= transcript.length + text.length > maxTranscript;
    this.#transcript = this.#isTooLong ? '' : transcript + text;
  }

  leave(): void {
    this.#isGone = true;
    this.#stopWaiting?.();
  }

  async #waitFor(taken: Promise<unknown>): Promise<void> {
    const deadline = stallDeadlines.start(stalledMs, () => {
      this.#isStalled = true;
      this.leave();
    });
    const { promise: gone, resolve } = Promise.withResolvers<void>();
    this.#stopWaiting = resolve;
    await Promise.race([taken.catch(() => this.leave()), gone]);
    deadline.clear();
    this.#stopWaiting = null;
  }
}

/**
 * `produce` writes everything. When it resolves, the response ends; when it rejects, the connection is reset. It runs
 * exactly once, even when the client leaves before the response has begun: what it does besides writing must not depend
 * on the client. `opening` is for a response that starts while its request is still needed; it settles when that is over.
 */
export function streamResponse(
  headers: Headers,
  signal: AbortSignal,
  produce: (client: ClientStream) => Promise<void>,
  opening: Promise<unknown> | null = null,
): Response {
  const source = new ProducedSource(produce);
  signal.addEventListener('abort', source);
  if (signal.aborted) source.cancel();
  return noteStream(new Response(new ReadableStream(source), { headers }), source.ended, opening);
}

/** An object with methods, because closures would take more memory for each open stream. */
class ProducedSource {
  readonly type = 'direct';
  /** Resolves when nothing more will be written. */
  readonly ended: Promise<void>;
  readonly #end: () => void;
  /** Null once it runs, so that what it refers to can be freed. */
  #produce: ((client: ClientStream) => Promise<void>) | null;
  #client: ClientStream | null = null;

  constructor(produce: (client: ClientStream) => Promise<void>) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.#end = resolve;
    this.#produce = produce;
  }

  async pull(controller: ReadableStreamDirectController | null): Promise<void> {
    const produce = this.#produce;
    if (produce === null) return;
    this.#produce = null;
    const client = new ClientStream(controller);
    this.#client = client;
    try {
      await produce(client);
    } finally {
      this.#end();
    }
    // A body that fails resets the connection; failing without a reason keeps it out of the log.
    if (client.isStalled) return Promise.reject();
    controller?.close();
  }

  cancel(): void {
    this.#client?.leave();
    this.pull(null).catch(() => undefined);
  }

  /** The client has disconnected. */
  handleEvent(): void {
    this.cancel();
  }
}

type NotedStream = Readonly<{ ended: Promise<void>; opening: Promise<unknown> | null }>;

/** Responses that are still being written when their handler returns them. */
const streams = new WeakMap<Response, NotedStream>();

/** `ended` resolves when nothing more will be written. */
export function noteStream(
  response: Response,
  ended = Promise.resolve(),
  opening: Promise<unknown> | null = null,
): Response {
  streams.set(response, { ended, opening });
  return response;
}

/** Neither its type nor its body tells: a stored response may be replayed in one piece or in many. */
export function streamOf(response: Response): NotedStream | null {
  return streams.get(response) ?? null;
}
