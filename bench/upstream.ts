/**
 * The provider that the subjects talk to: raw sockets and bytes made beforehand, so that it is not what is measured.
 * At the bench's request it returns how many connections it has accepted, lets held streams end and returns how many, or
 * returns when it was asked for late answers and when it began them.
 */
import type { Socket } from 'bun';
import { answerParent, sharedMs } from './child.ts';
import { HttpScanner } from './http-scanner.ts';
import { type Format, formats, heldEveryMs, lateByMs, models, pacedEveryMs, paths } from './scenarios.ts';
import { jsonAnswer, streamWrites, writesOfEnding } from './upstream-answers.ts';

export type UpstreamQuestion = 'connections' | 'release' | 'waits';
/** Of one late answer, by a clock that all processes share. */
export type Wait = Readonly<{ askedAtMs: number; answeredAtMs: number }>;
export type UpstreamAnswer = Readonly<{ count: number; waits: readonly Wait[] }>;

type Stream = {
  socket: Socket<Connection>;
  writes: readonly Buffer[];
  next: number;
  everyMs: number;
  dueAtMs: number;
};
type Connection = { scanner: HttpScanner | null; unsent: Buffer | null; stream: Stream | null };

const fastStreams = new Set<Stream>();
const timedStreams = new Set<Stream>();
/** Separate from the others, because there may be ten thousand of them to look through. */
const heldStreams = new Set<Stream>();
let acceptedConnections = 0;
let startedStreams = 0;
let waits: Wait[] = [];

function open(socket: Socket<Connection>): void {
  acceptedConnections += 1;
  let body = '';
  let format: Format = 'chat';
  const scanner = new HttpScanner({
    head: (text) => {
      body = '';
      format = formats.find((one) => text.startsWith(`post ${paths[one]} `)) ?? 'chat';
    },
    body: (bytes, start, end) => {
      body += bytes.toString('latin1', start, end);
    },
    end: () => answer(socket, format, body),
  });
  socket.data = { scanner, unsent: null, stream: null };
}

function answer(socket: Socket<Connection>, format: Format, body: string): void {
  if (body.includes(models.fast)) start(socket, format, 0);
  else if (body.includes(models.paced)) start(socket, format, pacedEveryMs);
  else if (body.includes(models.held)) start(socket, format, heldEveryMs);
  else if (body.includes(models.lateStream)) later(() => start(socket, format, pacedEveryMs));
  else if (body.includes(models.lateFast)) later(() => start(socket, format, 0));
  else if (body.includes(models.lateJson)) later(() => send(socket, jsonAnswer));
  else send(socket, jsonAnswer);
}

function later(begin: () => void): void {
  const askedAtMs = sharedMs();
  setTimeout(() => {
    waits.push({ askedAtMs, answeredAtMs: sharedMs() });
    begin();
  }, lateByMs);
}

function start(socket: Socket<Connection>, format: Format, everyMs: number): void {
  const stream: Stream = { socket, writes: streamWrites[format], next: 0, everyMs, dueAtMs: 0 };
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
  const bytes = stream.writes[stream.next];
  if (bytes === undefined) return false;
  stream.dueAtMs = performance.now() + stream.everyMs;
  send(socket, bytes);
  stream.next += 1;
  return stream.next < stream.writes.length;
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
    stream.next = stream.writes.length - writesOfEnding;
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

function takeWaits(): Wait[] {
  const taken = waits;
  waits = [];
  return taken;
}

answerParent<UpstreamQuestion, UpstreamAnswer>((question) => ({
  count: question === 'release' ? release() : acceptedConnections,
  waits: question === 'waits' ? takeWaits() : [],
}));
