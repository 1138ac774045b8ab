/** What tests of the embedded database look at, and a data folder for tests that are not about creating one. */
import { cpSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { acquireEmbeddedServer } from '../../src/database/embedded.ts';
import { migrate } from '../../src/database/migrate.ts';
import { eventually } from './eventually.ts';
import { type Gateway, temporaryFolder } from './gateway.ts';

/** The demo key that a gateway showed. */
export const keyIn = (gateway: Gateway) => /svc_sk_\w+/.exec(gateway.output())?.[0] ?? '';

/** The process ID of the server in a data folder. */
export const postmaster = (folder: string) =>
  Number.parseInt(readFileSync(join(folder, 'postgres/postmaster.pid'), 'utf8'), 10);

export const isServerThere = (folder: string) => existsSync(join(folder, 'postgres/postmaster.pid'));

export async function welcomed(gateway: Gateway): Promise<Gateway> {
  await eventually('the gateway says how to use it', () => gateway.output().includes('curl '));
  return gateway;
}

export async function modelIds(gateway: Gateway, key: string): Promise<string[]> {
  const response = await fetch(`${gateway.origin}/v1/models`, {
    headers: { authorization: `Bearer ${key}` },
  });
  return ((await response.json()) as { data: { id: string }[] }).data.map((model) => model.id);
}

/**
 * A data folder with an empty migrated database. A copy takes a twentieth of the time of creating one, which only the
 * tests of its creation need.
 */
export async function preparedFolder(): Promise<string> {
  const folder = join(temporaryFolder(), 'data');
  cpSync(await preparedTemplate(), folder, { recursive: true });
  return folder;
}

/** One for the whole run if that names a folder, else one per file. It must only be copied, never changed. */
export async function preparedTemplate(): Promise<string> {
  const template = templateFolder();
  if (existsSync(template)) return template;
  // Under another name until it is complete: two files may need it at once.
  const draft = mkdtempSync(`${template}-`);
  const server = await acquireEmbeddedServer(draft);
  const sql = new SQL({ adapter: 'postgres', ...server.connection, max: 1 });
  await migrate(sql);
  await sql.close();
  await server.release();
  try {
    renameSync(draft, template);
  } catch {
    rmSync(draft, { recursive: true, force: true });
  }
  return template;
}

let ownTemplate: string | null = null;

function templateFolder(): string {
  const shared = process.env.TOLLGATE_TEST_CLUSTER;
  if (shared !== undefined) return `${shared}-template`;
  if (ownTemplate === null || !existsSync(ownTemplate)) ownTemplate = join(temporaryFolder(), 'template');
  return ownTemplate;
}
