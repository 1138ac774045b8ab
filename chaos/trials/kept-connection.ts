/**
 * A client that keeps its connection for the next request, as most do, and retries nothing: a request whose response does
 * not arrive in full is lost. It opens another connection only if the last response asked for that, or if the connection
 * ended while it was idle.
 */
import { connect, type Socket } from 'node:net';

export type Reply = Readonly<{ status: number; body: string }>;

const bodyless = 'The connection ended before the response did.';

export class KeptConnection {
  readonly #origin: URL;
  #socket: Socket | null = null;
  #received = '';
  #onChange: () => void = () => undefined;

  constructor(origin: string) {
    this.#origin = new URL(origin);
  }

  /** Throws when the request is lost. */
  async post(path: string, headers: Readonly<Record<string, string>>, body: string): Promise<Reply> {
    // Lets it notice what has arrived meanwhile, such as the end of the connection, before it sends the next request.
    await new Promise((resolve) => setImmediate(resolve));
    const socket = this.#socket ?? this.#connect();
    const lines = Object.entries({ ...headers, 'content-length': `${Buffer.byteLength(body)}` });
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    this.#received = '';
    socket.write(`POST ${path} HTTP/1.1\r\nhost: ${this.#origin.host}\r\n${head}\r\n${body}`);
    for (;;) {
      const reply = readReply(this.#received);
      if (reply !== null) {
        if (reply.isLast) this.close();
        return reply;
      }
      if (this.#socket !== socket) throw new Error(bodyless);
      await new Promise<void>((resolve) => {
        this.#onChange = resolve;
      });
    }
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = null;
  }

  #connect(): Socket {
    const socket = connect(Number(this.#origin.port), this.#origin.hostname);
    socket.setNoDelay(true);
    socket.on('data', (data) => {
      if (this.#socket !== socket) return;
      this.#received += data.toString('latin1');
      this.#onChange();
    });
    const leave = () => {
      socket.destroy();
      if (this.#socket === socket) this.#socket = null;
      this.#onChange();
    };
    socket.on('end', leave);
    socket.on('error', leave);
    socket.on('close', leave);
    this.#socket = socket;
    return socket;
  }
}

/** Null while it is incomplete. */
function readReply(received: string): (Reply & { isLast: boolean }) | null {
  const headEnd = received.indexOf('\r\n\r\n');
  if (headEnd < 0) return null;
  const head = received.slice(0, headEnd).toLowerCase();
  const body = received.slice(headEnd + 4);
  const length = /\r\ncontent-length: (\d+)/.exec(head)?.[1];
  const isComplete = length === undefined ? body.endsWith('0\r\n\r\n') : body.length >= Number(length);
  if (!isComplete) return null;
  return { status: Number(head.slice(9, 12)), body, isLast: head.includes('\r\nconnection: close') };
}
