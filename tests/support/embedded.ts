/** What tests of the embedded database look at. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Gateway } from './gateway.ts';

/** The demo key that a gateway showed. */
export const keyIn = (gateway: Gateway) => /svc_sk_\w+/.exec(gateway.output())?.[0] ?? '';

/** The process ID of the server in a data folder. */
export const postmaster = (folder: string) =>
  Number.parseInt(readFileSync(join(folder, 'postgres/postmaster.pid'), 'utf8'), 10);

export const isServerThere = (folder: string) => existsSync(join(folder, 'postgres/postmaster.pid'));

export async function welcomed(gateway: Gateway): Promise<Gateway> {
  while (!gateway.output().includes('curl ')) await Bun.sleep(10);
  return gateway;
}

export async function modelIds(gateway: Gateway, key: string): Promise<string[]> {
  const response = await fetch(`${gateway.origin}/v1/models`, {
    headers: { authorization: `Bearer ${key}` },
  });
  return ((await response.json()) as { data: { id: string }[] }).data.map((model) => model.id);
}
