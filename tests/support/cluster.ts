/**
 * One real PostgreSQL, in a temporary folder: for the whole run when that names one, else for the file. Each test file gets
 * databases of its own, cloned from a migrated template, which takes milliseconds.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SQL } from 'bun';
import { acquireEmbeddedServer, type EmbeddedServer } from '../../src/database/embedded.ts';
import { migrate } from '../../src/database/migrate.ts';

type Cluster = Readonly<{ folder: string; server: EmbeddedServer; admin: SQL }>;

/** The folder of the run, shared by its processes. */
const sharedFolder = process.env.TOLLGATE_TEST_CLUSTER;
const templateLock = 7_012_018_901;

let cluster: Promise<Cluster> | null = null;

export type TestDatabase = Readonly<{ url: string; sql: SQL; close: () => Promise<void> }>;

/** A fresh, migrated database. */
export async function createDatabase(template = 'template_migrated'): Promise<TestDatabase> {
  cluster ??= startCluster();
  const { admin, server } = await cluster;
  const name = `test_${crypto.randomUUID().replaceAll('-', '')}`;
  await admin.unsafe(`create database ${name} template ${template}`);
  const url = urlOf(server, name);
  const sql = new SQL(url, { bigint: true, max: 4 });
  return {
    url,
    sql,
    close: async () => {
      await sql.close({ timeout: 1 });
      await admin.unsafe(`drop database ${name} with (force)`);
    },
  };
}

/** An empty database, as an operator would hand one over. */
export function createEmptyDatabase(): Promise<TestDatabase> {
  return createDatabase('template1');
}

export async function stopCluster(): Promise<void> {
  if (cluster === null) return;
  const { folder, server, admin } = await cluster;
  cluster = null;
  await admin.close({ timeout: 1 });
  await server.release();
  if (sharedFolder === undefined) rmSync(folder, { recursive: true, force: true });
}

async function startCluster(): Promise<Cluster> {
  const folder = sharedFolder ?? mkdtempSync(join(tmpdir(), 'tollgate-test-'));
  const server = await acquireEmbeddedServer(folder);
  const admin = new SQL(urlOf(server, 'postgres'), { max: 1 });
  await admin`select pg_advisory_lock(${templateLock})`;
  const isMade = (await admin`select 1 from pg_database where datname = 'template_migrated'`).length > 0;
  if (!isMade) await makeTemplate(admin, server);
  await admin`select pg_advisory_unlock(${templateLock})`;
  return { folder, server, admin };
}

/** Under another name until it is whole. */
async function makeTemplate(admin: SQL, server: EmbeddedServer): Promise<void> {
  await admin.unsafe('create database template_draft');
  const sql = new SQL(urlOf(server, 'template_draft'), { max: 1 });
  await migrate(sql);
  await sql.close({ timeout: 1 });
  await admin.unsafe('alter database template_draft rename to template_migrated');
}

function urlOf({ connection }: EmbeddedServer, database: string): string {
  return `postgres://${connection.username}@localhost/${database}?path=${encodeURIComponent(connection.path)}`;
}
