/**
 * One version of the gateway as it is deployed: several gateways on one PostgreSQL, and one more that reaches it over a
 * slow network. Each has its own data folder, as on machines of their own.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { SQL } from 'bun';
import { readConfig } from '../src/config.ts';
import { openCluster } from '../src/database/cluster.ts';
import { openDatabase } from '../src/database/connection.ts';
import { usageLock } from '../src/usage/usage-days.ts';
import type { createAccounts, Owner } from './accounts.ts';
import { freePort, startChild } from './child.ts';
import { cpuOfAll, postgresCpuMicroseconds, residentBytes } from './cpu.ts';
import { launchGateway, type RunningGateway } from './gateway.ts';
import type { Target } from './scenarios.ts';
import type { Subject } from './subjects.ts';
import type { Workshop } from './workshop.ts';

/** `before` is that of another checkout. */
export type Version = Readonly<{ name: 'before' | 'gateway'; checkout: string }>;

export type Deployment = Readonly<{
  name: Version['name'];
  /** Next to their PostgreSQL. */
  near: readonly RunningGateway[];
  /** The same PostgreSQL is farther away from this one. */
  far: RunningGateway;
  owners: readonly Owner[];
  sql: SQL;
  /** CPU is that of the gateways given and of the PostgreSQL that all of them share. */
  subject: (gateways: readonly RunningGateway[], targets: readonly Target[]) => Subject;
}>;

const gatewayCount = 3;

type DeploymentOptions = Readonly<{
  upstreamPort: number;
  accountCount: number;
  /** From the gateway that is far to PostgreSQL and back. */
  roundTripMs: number;
}>;

export async function startDeployment(
  { name, checkout }: Version,
  { upstreamPort, accountCount, roundTripMs }: DeploymentOptions,
  workshop: Workshop,
): Promise<Deployment> {
  const dataFolder = join(workshop.folder, name, 'database');
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
  const database = await openDatabase(readConfig({ TOLLGATE_DATA: dataFolder }));
  workshop.onStop(database.close);
  const { path, username, database: databaseName } = openCluster(dataFolder).connection;
  const proxyPort = freePort();
  await startChild('delay-proxy.ts', [`${proxyPort}`, path, `${roundTripMs}`], workshop);
  const secret = randomBytes(32).toString('base64');
  const launch = (place: string, databaseUrl: string) =>
    launchGateway(upstreamPort, workshop, {
      name: join(name, place),
      checkout,
      settings: { DATABASE_URL: databaseUrl, AUTH_SECRET: secret },
      formats: ['chat'],
    });
  const nearUrl = `postgres://${username}@localhost/${databaseName}?path=${encodeURIComponent(path)}`;
  const near: RunningGateway[] = [];
  // One after another: the first migrates the database.
  for (let number = 1; number <= gatewayCount; number += 1)
    near.push(await launch(`near-${number}`, nearUrl));
  const far = await launch(
    'far',
    `postgres://${username}@127.0.0.1:${proxyPort}/${databaseName}?sslmode=disable`,
  );
  const { sql } = database;
  const owners = await createAccountsOf(checkout, sql, accountCount);
  workshop.onStop(await pauseMaintenance(sql));
  return {
    name,
    near,
    far,
    owners,
    sql,
    subject: (gateways, targets) => {
      const processIds = gateways.map(({ processId }) => processId);
      return {
        name,
        targets,
        cpu: () => ({ own: cpuOfAll(processIds), postgres: postgresCpuMicroseconds(dataFolder) }),
        residentBytes: () => processIds.reduce((sum, processId) => sum + residentBytes(processId), 0),
      };
    },
  };
}

/**
 * What PostgreSQL and the gateways do once a minute would be counted in whichever scenario it falls into. Returns what ends
 * the pause; `maintain` is for the time between measurements.
 */
async function pauseMaintenance(sql: SQL): Promise<() => Promise<void>> {
  await sql`alter system set autovacuum = off`;
  await sql`select pg_reload_conf()`;
  const holding = await sql.reserve();
  // A gateway that finds this taken leaves the work to whoever has it.
  await holding`select pg_advisory_lock(${usageLock})`;
  return async () => await holding.release();
}

export async function maintain({ sql }: Pick<Deployment, 'sql'>): Promise<void> {
  await sql`vacuum (analyze)`;
}

/** With the code of that checkout, which knows its own schema. */
async function createAccountsOf(checkout: string, sql: SQL, count: number): Promise<Owner[]> {
  const module = (await import(join(checkout, 'bench/accounts.ts'))) as {
    createAccounts: typeof createAccounts;
  };
  return await module.createAccounts(sql, count);
}
