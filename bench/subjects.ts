/** What is compared: the upstream itself, a bare proxy before it, and the gateway before it. Each is a process. */
import { type Child, freePort, startChild } from './child.ts';
import { type Gateway, startGateway } from './gateway.ts';
import type { LoadQuestion, LoadResult } from './load.ts';
import type { UpstreamQuestion } from './upstream.ts';
import type { Workshop } from './workshop.ts';

export type SubjectName = 'direct' | 'bare' | 'gateway';

export type Subject = Readonly<{
  name: SubjectName;
  port: number;
  key: string;
  processId: number;
  /** Where its PostgreSQL lies, if it has one. */
  dataFolder: string | null;
}>;

export type Upstream = Child<UpstreamQuestion, number>;
export type Load = Child<LoadQuestion, LoadResult>;

export type Bench = Readonly<{
  upstream: Upstream;
  load: Load;
  gateway: Gateway;
  subjects: readonly Subject[];
}>;

export async function startBench(workshop: Workshop, gatewayOptions: readonly string[] = []): Promise<Bench> {
  const upstreamPort = freePort();
  const upstream: Upstream = await startChild('upstream.ts', [`${upstreamPort}`], workshop);
  const barePort = freePort();
  const bare = await startChild('bare-proxy.ts', [`${barePort}`, `${upstreamPort}`], workshop);
  const load: Load = await startChild('load.ts', [], workshop);
  const gateway = await startGateway(upstreamPort, workshop, gatewayOptions);
  const { key } = gateway;
  return {
    upstream,
    load,
    gateway,
    subjects: [
      { name: 'direct', port: upstreamPort, processId: upstream.processId, key, dataFolder: null },
      { name: 'bare', port: barePort, processId: bare.processId, key, dataFolder: null },
      { name: 'gateway', ...gateway },
    ],
  };
}

/** For comparing gateways with each other. */
export async function startUpstreamAndLoad(workshop: Workshop) {
  const upstreamPort = freePort();
  await startChild('upstream.ts', [`${upstreamPort}`], workshop);
  const load: Load = await startChild('load.ts', [], workshop);
  return { upstreamPort, load };
}
