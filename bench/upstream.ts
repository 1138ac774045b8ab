/**
 * The provider that the subjects talk to: raw sockets and bytes made beforehand, so that it is not what is measured.
 * At the bench's request it returns how many connections it has accepted, or lets held streams end and returns how many.
 */
import type { Socket } from 'bun';
import { answerParent } from './child.ts';
import { HttpScanner } from './http-scanner.ts';
import { heldEveryMs, models, pacedEveryMs } from './scenarios.ts';
import { jsonAnswer, streamWrites, writesOfEnding } from './upstream-answers.ts';

export type UpstreamQuestion = 'connections' | 'release';

type Stream = { socket: Socket<Connection>; next: number; everyMs: number; dueAtMs: number };
type Connection = { scanner: HttpScanner | null; unsent: Buffer | null; stream: Stream | null };

const fastStreams = new Set<Stream>();
const timedStreams = new Set<Stream>();
/** Separate from the others, because there may be ten thousand of them to look through. */
const heldStreams = new Set<Stream>();
let acceptedConnections = 0;
let startedStreams = 0;

function open(socket: Socket<Connection>): void {
  acceptedConnections += 1;
  let body = '';
  const scanner = new HttpScanner({
    head: () => {
      body = '';
    },
    body: (bytes, start, end) => {
      body += bytes.toString('latin1', start, end);
    },
    end: () => answer(socket, body),
  });
  socket.data = { scanner, unsent: null, stream: null };
}

function answer(socket: Socket<Connection>, body: string): void {
  if (body.includes(models.fast)) start(socket, 0);
  else if (body.includes(models.paced)) start(socket, pacedEveryMs);
  else if (body.includes(models.held)) start(socket, heldEveryMs);
  else send(socket, jsonAnswer);
}

function start(socket: Socket<Connection>, everyMs: number): void {
  const stream: Stream = { socket, next: 0, everyMs, dueAtMs: 0 };
  socket.data.stream = stream;
  writeNext(stream);
  if (everyMs > 0) {
    (everyMs === heldEveryMs ? heldStreams : timedStreams).add(stream);
    // The first content follows at once; a gateway forwards nothing before it.
    writeNext(stream);
    // Streams that began together are kept apart, or all of them would keep writing in the same moment.
    startedStreams += 1;
    stream.dueAtMs += startedStreams % everyMs;
  } else {
    if (fastStreams.size === 0) setImmediate(turn);
    fastStreams.add(stream);
  }
}

/** Each turn writes one event of every stream. */
function turn(): void {
  for (const stream of fastStreams) if (!writeNext(stream)) fastStreams.delete(stream);
  if (fastStreams.size > 0) setImmediate(turn);
}

function writeDue(streams: Set<Stream>): void {
  const nowMs = performance.now();
  for (const stream of streams) {
    if (stream.dueAtMs <= nowMs && !writeNext(stream)) streams.delete(stream);
  }
}
setInterval(() => writeDue(timedStreams), 1);
setInterval(() => writeDue(heldStreams), heldEveryMs / 20);

/** False when the stream has ended. */
function writeNext(stream: Stream): boolean {
  const { socket } = stream;
  // A reader that does not keep up gets no more until it does.
  if (socket.data.unsent !== null) return true;
  const bytes = streamWrites[stream.next];
  if (bytes === undefined) return false;
  stream.dueAtMs = performance.now() + stream.everyMs;
  send(socket, bytes);
  stream.next += 1;
  return stream.next < streamWrites.length;
}

function send(socket: Socket<Connection>, bytes: Buffer): void {
  const written = socket.write(bytes);
  if (written >= 0 && written < bytes.length) socket.data.unsent = bytes.subarray(written);
}

function drain(socket: Socket<Connection>): void {
  const { unsent } = socket.data;
  socket.data.unsent = null;
  if (unsent !== null) send(socket, unsent);
}

function forget(socket: Socket<Connection>): void {
  const { stream } = socket.data;
  if (stream === null) return;
  fastStreams.delete(stream);
  timedStreams.delete(stream);
  heldStreams.delete(stream);
}

/** What is left of their content is skipped: a thousand streams that end at once are not what is measured. */
function release(): number {
  const count = heldStreams.size;
  for (const stream of heldStreams) {
    timedStreams.add(stream);
    stream.next = streamWrites.length - writesOfEnding;
    stream.everyMs = pacedEveryMs;
    stream.dueAtMs = performance.now();
  }
  heldStreams.clear();
  return count;
}

const data: Connection = { scanner: null, unsent: null, stream: null };
Bun.listen<Connection>({
  hostname: '127.0.0.1',
  port: Number(process.argv[2]),
  data,
  socket: {
    open,
    data: (socket, bytes) => socket.data.scanner?.push(bytes),
    drain,
    close: forget,
    error: forget,
  },
});

answerParent<UpstreamQuestion, number>((question) =>
  question === 'release' ? release() : acceptedConnections,
);
