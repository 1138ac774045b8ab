/**
 * One real PostgreSQL for the whole test run, in a temporary folder. Each test file gets a database of its own, cloned
 * from a migrated template, which takes milliseconds.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SQL } from 'bun';
import { acquireEmbeddedServer, type EmbeddedServer } from '../../src/database/embedded.ts';
import { migrate } from '../../src/database/migrate.ts';

type Cluster = Readonly<{ folder: string; server: EmbeddedServer; admin: SQL }>;

let cluster: Promise<Cluster> | null = null;
let databaseCount = 0;

export type TestDatabase = Readonly<{ url: string; sql: SQL; close: () => Promise<void> }>;

/** A fresh, migrated database. */
export async function createDatabase(template = 'template_migrated'): Promise<TestDatabase> {
  cluster ??= startCluster();
  const { admin, server } = await cluster;
  databaseCount += 1;
  const name = `test_${databaseCount}`;
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
  await admin.close({ timeout: 1 });
  await server.release();
  rmSync(folder, { recursive: true, force: true });
}

async function startCluster(): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'));
  const server = await acquireEmbeddedServer(folder);
  const admin = new SQL(urlOf(server, 'postgres'), { max: 1 });
  await admin.unsafe('create database template_migrated');
  const sql = new SQL(urlOf(server, 'template_migrated'), { max: 1 });
  await migrate(sql);
  await sql.close({ timeout: 1 });
  return { folder, server, admin };
}

function urlOf({ connection }: EmbeddedServer, database: string): string {
  return `postgres://${connection.username}@localhost/${database}?path=${encodeURIComponent(connection.path)}`;
}
