/**
 * A PostgreSQL made to be killed: the same cluster that the gateway embeds, with fsync on, but its server is a child of
 * this program, which starts it again.
 */
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { type Cluster, openCluster } from '../../src/database/cluster.ts';
import { leftoverEnder, statusOf } from '../../src/database/leftover-processes.ts';
import { migrate } from '../../src/database/migrate.ts';
import { logHolds } from './hold-log.ts';

const databaseName = 'tollgate_chaos';
const startDeadlineMs = 60_000;
const retryMs = 20;

/**
 * `postmaster`: its children end by themselves, in their own time. `all`: everything at once, as in a power cut. `all but
 * one`: a stopped child is left behind, and keeps the shared memory, so that no other server starts.
 */
export const databaseKills = ['postmaster', 'all', 'all but one'] as const;
export type DatabaseKill = (typeof databaseKills)[number];

export class ChaosDatabase {
  readonly url: string;
  readonly #cluster: Cluster;
  /** Resolves when the server has ended; null when none was started. */
  #server: Promise<unknown> | null = null;

  private constructor(cluster: Cluster) {
    this.#cluster = cluster;
    this.url = this.#urlOf(databaseName);
  }

  /** Where the server listens. */
  get socketFile(): string {
    return this.#cluster.connection.path;
  }

  /** Its URL through a relay that listens on this port. */
  urlOver(port: number): string {
    return `postgres://${this.#cluster.connection.username}@127.0.0.1:${port}/${databaseName}?sslmode=disable`;
  }

  /**
   * A running, migrated database inside `dataFolder`. It may start as a copy of an existing data folder, since creating
   * one takes longer than a short run.
   */
  static async create(dataFolder: string, preparedFolder?: string): Promise<ChaosDatabase> {
    if (preparedFolder !== undefined) cpSync(preparedFolder, dataFolder, { recursive: true });
    const database = new ChaosDatabase(openCluster(dataFolder));
    await database.#start('postgres');
    // A connection to the template would prevent copying it.
    const admin = new SQL(database.#urlOf('template1'), { max: 1 });
    await admin.unsafe(`create database ${databaseName} template postgres`);
    await admin.close({ timeout: 1 });
    const sql = database.open(1);
    await migrate(sql);
    await logHolds(sql);
    await sql.close({ timeout: 1 });
    return database;
  }

  open(max: number): SQL {
    return new SQL(this.url, { max, bigint: true, connectionTimeout: 5 });
  }

  kill(how: DatabaseKill): void {
    const postmaster = this.#postmasterId();
    const [first, ...rest] = how === 'postmaster' ? [] : childrenOf(postmaster);
    if (first !== undefined) signal(first, how === 'all' ? 'SIGKILL' : 'SIGSTOP');
    for (const id of [postmaster, ...rest]) signal(id, 'SIGKILL');
  }

  /** Resolves when the server takes connections. */
  async start(): Promise<void> {
    await this.#start(databaseName);
  }

  async stop(): Promise<void> {
    if (this.#server === null) return;
    process.kill(this.#postmasterId(), 'SIGQUIT');
    await this.#server;
  }

  async #start(database: string): Promise<void> {
    const deadline = Date.now() + startDeadlineMs;
    const endLeftover = leftoverEnder(this.#cluster.folder);
    while (!(await answers(this.#urlOf(database)))) {
      if (Date.now() > deadline) throw new Error(`The database does not start: see ${this.#cluster.logFile}`);
      // While children of a killed server live, PostgreSQL refuses to start and ends at once.
      this.#server ??= this.#run();
      endLeftover();
      await Bun.sleep(retryMs);
    }
  }

  async #run(): Promise<void> {
    const { folder, logFile, programs, user } = this.#cluster;
    // The hold log needs the time of each commit.
    const start = 'exec "$0" -D "$1" -c track_commit_timestamp=on >>"$2" 2>&1';
    const words = [start, join(programs, 'postgres'), folder, logFile];
    await user.runAsync(['sh', '-c', ...words]);
    this.#server = null;
  }

  #urlOf(database: string): string {
    const { path, username } = this.#cluster.connection;
    return `postgres://${username}@localhost/${database}?path=${encodeURIComponent(path)}`;
  }

  #postmasterId(): number {
    const id = Number.parseInt(readFileSync(join(this.#cluster.folder, 'postmaster.pid'), 'utf8'), 10);
    if (!(id > 0)) throw new Error('The database gave no process ID.');
    return id;
  }
}

/** Whether a database can be reached there, directly or through a relay. */
export async function answers(url: string): Promise<boolean> {
  const sql = new SQL(url, { max: 1, connectionTimeout: 5 });
  try {
    await sql`select 1`;
    return true;
  } catch {
    return false;
  } finally {
    await sql.close({ timeout: 0 });
  }
}

function signal(processId: number, name: NodeJS.Signals): void {
  try {
    process.kill(processId, name);
  } catch {
    // It ended between being listed and being killed.
  }
}

/** Where the system has no /proc, children are left to end by themselves. */
function childrenOf(parent: number): number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name) && statusOf(Number(name))?.parent === parent)
      .map(Number);
  } catch {
    return [];
  }
}
