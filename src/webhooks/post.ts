/**
 * Posts a body to an address that someone else chose. The name is resolved once, every address that it has is checked, and
 * the connection goes to such an address itself, so that a name cannot mean another one a moment later. Of the response only
 * the head is read. Nothing is followed, kept open, decompressed, or sent through a proxy, which is why this is not fetch.
 */
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { softwareVersion } from '../lib/software-version.ts';
import { pace } from './pace.ts';
import { type Resolve, resolvePublic } from './resolve.ts';
import { HeadReader, headerIn, statusIn } from './response-head.ts';

export type Post = Readonly<{ url: URL; headers: Readonly<Record<string, string>>; body: string }>;

/**
 * `unreachable` also stands for an address that may not be called: who chose it learns nothing about such networks. After
 * `stopped` and `busy` nothing was sent.
 */
export type Problem =
  | 'unreachable'
  | 'timeout'
  | 'tls'
  | 'no_response'
  | 'secret_unreadable'
  | 'stopped'
  | 'busy';

export type Posted = Readonly<{
  /** Null without a response. */
  status: number | null;
  problem: Problem | null;
  retryAfter: string | null;
  /** Without the signature. */
  requestHead: string;
  responseHead: string | null;
}>;

export type Surroundings = Readonly<{
  mayBeCalled: (address: string) => boolean;
  resolve?: Resolve;
  /** Asked before a connection to an address: what to do when it ends, or null if there should be none now. */
  enter?: (address: string) => (() => void) | null;
  timeoutMs?: number;
  stop?: AbortSignal;
}>;

const maxStoredHead = 2_000;
const maxAddresses = 3;

class Failure extends Error {
  readonly problem: Problem;
  constructor(problem: Problem) {
    super(problem);
    this.problem = problem;
  }
}

export async function post(request: Post, surroundings: Surroundings): Promise<Posted> {
  const { timeoutMs = pace.timeoutMs, stop } = surroundings;
  const head = headOf(request);
  const requestHead = storable(head).replace(/^webhook-signature: .*$/m, 'webhook-signature: …');
  const ending = new AbortController();
  const timer = setTimeout(() => ending.abort(new Failure('timeout')), timeoutMs);
  const onStop = () => ending.abort(new Failure('stopped'));
  stop?.addEventListener('abort', onStop);
  if (stop?.aborted === true) onStop();
  try {
    const responseHead = await exchange(request, head, surroundings, ending.signal);
    return { requestHead, ...readHead(responseHead) };
  } catch (error) {
    const problem = error instanceof Failure ? error.problem : 'unreachable';
    return { status: null, problem, retryAfter: null, requestHead, responseHead: null };
  } finally {
    clearTimeout(timer);
    stop?.removeEventListener('abort', onStop);
  }
}

async function exchange(
  { url, body }: Post,
  head: string,
  { mayBeCalled, resolve = resolvePublic, enter = () => () => undefined }: Surroundings,
  ending: AbortSignal,
): Promise<string> {
  const addresses = await untilEnd(addressesOf(url, resolve, ending), ending);
  if (addresses.length === 0 || !addresses.every(mayBeCalled)) throw new Failure('unreachable');
  let last: unknown = new Failure('unreachable');
  for (const address of addresses.slice(0, maxAddresses)) {
    const leave = enter(address);
    if (leave === null) throw new Failure('busy');
    try {
      return await exchangeWith(address, url, head + body, mayBeCalled, ending);
    } catch (error) {
      last = error;
      // Whoever was reached may have taken the request.
      if (!(error instanceof Failure) || error.problem !== 'unreachable') throw error;
    } finally {
      leave();
    }
  }
  throw last;
}

/** An address in a URL is already written in its one usual form: the parser turns 0x7f.1 into 127.0.0.1. */
async function addressesOf(
  { hostname }: URL,
  resolve: Resolve,
  ending: AbortSignal,
): Promise<readonly string[]> {
  const literal = hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(literal) === 0 ? await resolve(hostname, ending) : [literal];
}

function untilEnd<Result>(work: Promise<Result>, ending: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    if (ending.aborted) reject(ending.reason as Error);
    ending.addEventListener('abort', () => reject(ending.reason as Error), { once: true });
    work.then(resolve, reject);
  });
}

/** Returns the head of the response. */
function exchangeWith(
  address: string,
  url: URL,
  request: string,
  mayBeCalled: (address: string) => boolean,
  ending: AbortSignal,
): Promise<string> {
  return new Promise((resolve, reject) => {
    let isConnected = false;
    const reader = new HeadReader();
    const socket = open(address, url, () => {
      isConnected = true;
      if (socket.remoteAddress === undefined || !mayBeCalled(socket.remoteAddress))
        end(new Failure('unreachable'));
      else socket.write(request);
    });
    const onEnding = () => end(ending.reason as Error);
    const end = (result: string | Error) => {
      ending.removeEventListener('abort', onEnding);
      socket.destroy();
      if (typeof result === 'string') resolve(result);
      else reject(result);
    };
    ending.addEventListener('abort', onEnding);
    if (ending.aborted) onEnding();
    socket.on('data', (chunk: Buffer) => {
      const read = reader.add(chunk);
      if (read === 'too_long') end(new Failure('no_response'));
      else if (read !== null) end(read.head);
    });
    socket.on('error', (error) => end(failureOf(error, isConnected)));
    socket.on('close', () => end(new Failure(isConnected ? 'no_response' : 'unreachable')));
  });
}

function open(address: string, url: URL, onConnected: () => void): Socket {
  const isSecure = url.protocol === 'https:';
  const port = url.port === '' ? (isSecure ? 443 : 80) : Number(url.port);
  if (!isSecure) return connectTcp({ host: address, port }, onConnected);
  // Of an address, the certificate has to have that address; there is no name to send.
  const isName = isIP(url.hostname.replace(/^\[(.*)\]$/, '$1')) === 0;
  const servername = isName ? url.hostname : '';
  return connectTls({ host: address, port, servername, rejectUnauthorized: true }, onConnected);
}

function failureOf(error: Error, isConnected: boolean): Failure {
  const code = 'code' in error ? String(error.code) : '';
  if (/CERT|TLS|SSL|ISSUER|SIGNED/.test(code)) return new Failure('tls');
  return new Failure(isConnected ? 'no_response' : 'unreachable');
}

function readHead(head: string): Pick<Posted, 'status' | 'retryAfter' | 'responseHead' | 'problem'> {
  const status = statusIn(head);
  if (status === null) return { status: null, retryAfter: null, responseHead: null, problem: 'no_response' };
  return { status, retryAfter: headerIn(head, 'retry-after'), responseHead: storable(head), problem: null };
}

/** Only what is a line of text on any screen. */
function storable(head: string): string {
  return head
    .replaceAll('\r\n', '\n')
    .replace(/[^\n\t\x20-\x7e]/g, '�')
    .trim()
    .slice(0, maxStoredHead);
}

function headOf({ url, headers, body }: Post): string {
  const lines = Object.entries({
    host: url.host,
    'user-agent': `tollgate/${softwareVersion}`,
    accept: '*/*',
    'content-type': 'application/json',
    'content-length': `${Buffer.byteLength(body)}`,
    connection: 'close',
    ...headers,
  }).map(([name, value]) => `${name}: ${value}`);
  return `POST ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`;
}
