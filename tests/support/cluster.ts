/**
 * One real PostgreSQL for the tests: the server that TOLLGATE_TEST_DATABASE_URL names, or an embedded one in a temporary
 * folder, shared by the whole run if the run names the folder. Each test file gets its own databases, cloned from a
 * migrated template, which takes milliseconds.
 */
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SQL } from 'bun';
import { acquireEmbeddedServer } from '../../src/database/embedded.ts';
import { migrate } from '../../src/database/migrate.ts';

type Server = Readonly<{ urlOf: (database: string) => string; release: () => Promise<void> }>;
type Cluster = Server & Readonly<{ admin: SQL }>;

/** A database on the test server, for a user who may create databases. */
const namedServer = process.env.TOLLGATE_TEST_DATABASE_URL;
/** The folder of the run, shared by its processes. */
const sharedFolder = process.env.TOLLGATE_TEST_CLUSTER;
const templateLock = 7_012_018_901;
/** Named after the migrations, because a named server may still have the template of another version. */
const migratedTemplate = `tollgate_template_${digestOfMigrations()}`;

let cluster: Promise<Cluster> | null = null;

export type TestDatabase = Readonly<{ url: string; sql: SQL; close: () => Promise<void> }>;

/** A fresh, migrated database. */
export async function createDatabase(template = migratedTemplate): Promise<TestDatabase> {
  cluster ??= startCluster();
  const { admin, urlOf } = await cluster;
  const name = `test_${crypto.randomUUID().replaceAll('-', '')}`;
  // Without flushes, copying the files takes half as long as copying them through the WAL.
  await admin.unsafe(`create database ${name} template ${template} strategy file_copy`);
  const url = urlOf(name);
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
  const { admin, release } = await cluster;
  cluster = null;
  await admin.close({ timeout: 1 });
  await release();
}

async function startCluster(): Promise<Cluster> {
  const server = namedServer === undefined ? await startEmbedded() : atServer(namedServer);
  const admin = new SQL(server.urlOf('postgres'), { max: 1 });
  await admin`select pg_advisory_lock(${templateLock})`;
  const isMade = (await admin`select 1 from pg_database where datname = ${migratedTemplate}`).length > 0;
  if (!isMade) await makeTemplate(admin, server);
  await admin`select pg_advisory_unlock(${templateLock})`;
  return { ...server, admin };
}

async function startEmbedded(): Promise<Server> {
  const folder = sharedFolder ?? mkdtempSync(join(tmpdir(), 'tollgate-test-'));
  const { connection, release } = await acquireEmbeddedServer(folder);
  const path = encodeURIComponent(connection.path);
  const urlOf = (database: string) => `postgres://${connection.username}@localhost/${database}?path=${path}`;
  await doWithoutFlushes(urlOf('postgres'));
  return {
    urlOf,
    release: async () => {
      await release();
      if (sharedFolder === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** There are hundreds of short-lived test databases, and none has to survive a crash of the machine. */
async function doWithoutFlushes(url: string): Promise<void> {
  const sql = new SQL(url, { max: 1 });
  await sql.unsafe('alter system set fsync = off');
  await sql.unsafe('select pg_reload_conf()');
  await sql.close();
}

function atServer(serverUrl: string): Server {
  return {
    urlOf: (database) => {
      const url = new URL(serverUrl);
      url.pathname = database;
      return url.href;
    },
    release: () => Promise.resolve(),
  };
}

/** Under another name until it is complete. */
async function makeTemplate(admin: SQL, { urlOf }: Server): Promise<void> {
  const draft = 'tollgate_template_draft';
  await admin.unsafe(`drop database if exists ${draft} with (force)`);
  await admin.unsafe(`create database ${draft}`);
  const sql = new SQL(urlOf(draft), { max: 1 });
  await migrate(sql);
  await sql.close({ timeout: 1 });
  await admin.unsafe(`alter database ${draft} rename to ${migratedTemplate}`);
}

function digestOfMigrations(): string {
  const folder = join(import.meta.dir, '../../migrations');
  const hash = createHash('sha256');
  for (const name of readdirSync(folder).sort()) hash.update(readFileSync(join(folder, name)));
  return hash.digest('hex').slice(0, 16);
}
