/** What is compared: the upstream itself, a bare proxy and the gateway in front of it, and a peer. Each is a process. */
import { type Child, freePort, startChild } from './child.ts';
import { type CpuReading, cpuMicroseconds, postgresCpuMicroseconds, residentBytes } from './cpu.ts';
import { type Gateway, startGateway } from './gateway.ts';
import type { LoadQuestion, LoadResult } from './load.ts';
import { localTarget, type Target } from './scenarios.ts';
import type { UpstreamAnswer, UpstreamQuestion } from './upstream.ts';
import type { Workshop } from './workshop.ts';

export const subjectNames = ['direct', 'bare', 'before', 'gateway', 'peer'] as const;
export type SubjectName = (typeof subjectNames)[number];

export type Subject = Readonly<{
  name: SubjectName;
  /** Several when gateways share the load. */
  targets: readonly Target[];
  cpu: () => CpuReading;
  residentBytes: () => number;
}>;

export type Upstream = Child<UpstreamQuestion, UpstreamAnswer>;
export type Load = Child<LoadQuestion, LoadResult>;

export type Bench = Readonly<{
  upstream: Upstream;
  load: Load;
  gateway: Gateway;
  /** That of an older checkout, if the two are compared. */
  before: Gateway | null;
  subjects: readonly Subject[];
}>;

type BenchOptions = Readonly<{
  /** For the runtime of the gateway, such as those that record a profile. */
  bunOptions?: readonly string[];
  upstreamPort?: number;
  /** The folder of a checkout whose gateway is one more subject. */
  beforeFolder?: string | null;
}>;

export async function startBench(
  workshop: Workshop,
  { bunOptions = [], upstreamPort = freePort(), beforeFolder = null }: BenchOptions = {},
): Promise<Bench> {
  const upstream: Upstream = await startChild('upstream.ts', [`${upstreamPort}`], workshop);
  const barePort = freePort();
  const bare = await startChild('bare-proxy.ts', [`${barePort}`, `${upstreamPort}`], workshop);
  const load: Load = await startChild('load.ts', [], workshop);
  const gateway = await startGateway(upstreamPort, workshop, bunOptions);
  const before =
    beforeFolder === null
      ? null
      : await startGateway(upstreamPort, workshop, bunOptions, {
          name: 'before',
          checkout: beforeFolder,
          formats: ['chat'],
        });
  const { key } = gateway;
  return {
    upstream,
    load,
    gateway,
    before,
    subjects: [
      ownSubject('direct', upstreamPort, key, upstream.processId),
      ownSubject('bare', barePort, key, bare.processId),
      ...(before === null ? [] : [gatewaySubject('before', before)]),
      gatewaySubject('gateway', gateway),
    ],
  };
}

function gatewaySubject(name: SubjectName, { port, key, processId, dataFolder }: Gateway): Subject {
  return ownSubject(name, port, key, processId, dataFolder);
}

/** `dataFolder` is where its PostgreSQL is, if it has one. */
export function ownSubject(
  name: SubjectName,
  port: number,
  key: string,
  processId: number,
  dataFolder: string | null = null,
): Subject {
  return {
    name,
    targets: [localTarget(port, [key])],
    cpu: () => ({
      own: cpuMicroseconds(processId),
      postgres: dataFolder === null ? Number.NaN : postgresCpuMicroseconds(dataFolder),
    }),
    residentBytes: () => residentBytes(processId),
  };
}

export function subjectNamed({ subjects }: Bench, wanted: SubjectName): Subject {
  const found = subjects.find(({ name }) => name === wanted);
  if (found === undefined) throw new Error(`There is no subject "${wanted}".`);
  return found;
}

/** For comparing gateways with each other. */
export async function startUpstreamAndLoad(workshop: Workshop) {
  const upstreamPort = freePort();
  const upstream: Upstream = await startChild('upstream.ts', [`${upstreamPort}`], workshop);
  const load: Load = await startChild('load.ts', [], workshop);
  return { upstreamPort, upstream, load };
}
