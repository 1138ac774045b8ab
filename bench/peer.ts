/** Another gateway, already running, as one more subject: `npm run bench -- --against URL --key KEY`. */
import { type CpuReading, cpuOfAll, residentBytes } from './cpu.ts';
import { listenersOn, programName, withDescendants } from './process-tree.ts';
import { models, paths, requestBody, type Target } from './scenarios.ts';
import type { Subject } from './subjects.ts';

const readyDeadlineMs = 60_000;

/** Throws unless the URL is plain HTTP on this machine: the bench puts no load on others. */
export function peerTarget(
  url: string,
  key: string,
  model: string | null,
  headers: readonly string[],
): Target {
  const { protocol, hostname, port, pathname } = new URL(url);
  const isLoopback = hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
  if (protocol !== 'http:' || !isLoopback)
    throw new Error('--against takes a URL such as http://127.0.0.1:9999: loopback only, without TLS.');
  const broken = headers.find((line) => !/^[\w-]+: ?[^\r\n]+$/.test(line));
  if (broken !== undefined) throw new Error(`--header takes "name: value", not "${broken}".`);
  return {
    hostname: hostname === '[::1]' ? '::1' : hostname,
    port: port === '' ? 80 : Number(port),
    prefix: pathname.replace(/\/+$/, '').replace(/\/v1$/, ''),
    keys: [key],
    headers,
    model,
    passesEventsSingly: false,
  };
}

/** Waits until the peer returns what the upstream of the bench sent. */
export async function openPeer(
  target: Target,
  upstreamPort: number,
  report: (text: string) => void,
): Promise<Subject> {
  report(`The peer has to send its requests to http://127.0.0.1:${upstreamPort}/v1 (chat completions).`);
  const deadlineMs = Date.now() + readyDeadlineMs;
  for (let problem = await tryOnce(target); problem !== null; problem = await tryOnce(target)) {
    if (Date.now() > deadlineMs) throw new Error(`The peer does not work: ${problem}`);
    report(`waiting for the peer: ${problem}`);
    await Bun.sleep(2_000);
  }
  const listeners = listenersOn(target.port);
  if (listeners.length === 0) report('No process of the peer was found, so its CPU is not measured.');
  return {
    name: 'peer',
    targets: [target],
    cpu: () => readCpu(listeners),
    residentBytes: () =>
      listeners.length === 0
        ? Number.NaN
        : ownAndPostgres(listeners).own.reduce((sum, processId) => sum + residentBytes(processId), 0),
  };
}

async function tryOnce({ hostname, port, prefix, keys, headers, model }: Target): Promise<string | null> {
  const host = hostname.includes(':') ? `[${hostname}]` : hostname;
  const response = await fetch(`http://${host}:${port}${prefix}${paths.chat}`, {
    method: 'POST',
    headers: [
      ['authorization', `Bearer ${keys[0]}`],
      ['content-type', 'application/json'],
      ...headers.map((line): [string, string] => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon), line.slice(colon + 1).trim()];
      }),
    ],
    body: requestBody(models.json, 'chat', model),
    signal: AbortSignal.timeout(5_000),
  }).catch((error: unknown) => String(error));
  if (typeof response === 'string') return response;
  const text = await response.text();
  if (response.ok && text.includes('blue reaches the eye')) return null;
  return `status ${response.status}: ${text.slice(0, 300)}`;
}

/** A database that the peer has started is counted separately, like the gateway's. */
function ownAndPostgres(listeners: readonly number[]): { own: number[]; postgres: number[] } {
  const all = withDescendants(listeners);
  const postgres = all.filter((processId) => programName(processId) === 'postgres');
  return { own: all.filter((processId) => !postgres.includes(processId)), postgres };
}

function readCpu(listeners: readonly number[]): CpuReading {
  if (listeners.length === 0) return { own: Number.NaN, postgres: Number.NaN };
  const { own, postgres } = ownAndPostgres(listeners);
  return { own: cpuOfAll(own), postgres: postgres.length === 0 ? Number.NaN : cpuOfAll(postgres) };
}
