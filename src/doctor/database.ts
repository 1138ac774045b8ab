/**
 * Whether the database can be reached, is fit for money, belongs to us and has our schema, whether the clocks agree, and
 * whether its replica is close behind.
 */
import { SQL } from 'bun';
import { type Config, durabilitySettings } from '../config.ts';
import { hasCluster } from '../database/cluster.ts';
import { connectionOptions, openExistingDatabase } from '../database/connection.ts';
import { explainDatabaseError } from '../database/explain.ts';
import { requireMigrated } from '../database/migrate.ts';
import { compareReplica } from '../database/replica.ts';
import { findLocalPorts } from '../database/running-gateways.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { within } from '../lib/within.ts';
import { clockOffsetMs, judgeClock } from '../nodes/database-clock.ts';
import { doctorName, examineConnections } from './connections.ts';
import { type Finding, good, problem, warning } from './finding.ts';
import { compareSecrets } from './secret.ts';

/** Above this the gateway still works, but logs of several nodes no longer fit together. */
const noticeableOffsetMs = 1_000;

type Examined = Readonly<{
  findings: Finding[];
  /** The ports of the gateways on this machine that use it; null when it could not be asked. */
  localPorts: ReadonlySet<number> | null;
}>;

export async function examineDatabase(config: Config, patienceMs: number): Promise<Examined> {
  const isEmbedded = config.databaseUrl === null && !Bun.isStandaloneExecutable;
  if (isEmbedded && !hasCluster(config.dataFolder))
    return {
      findings: [
        warning(
          'database',
          `There is no embedded database in ${config.dataFolder} yet.`,
          'The first tollgate serve creates it. To use your own PostgreSQL, set DATABASE_URL.',
        ),
      ],
      localPorts: new Set(),
    };
  try {
    const own = { ...config, databasePool: 1, databaseReadUrl: null };
    const database = await openExistingDatabase(own, doctorName);
    const { sql } = database;
    const { databaseReadUrl } = config;
    try {
      const findings = [
        ...(await explained(config, 'database', () => examineServer(sql, config))),
        ...(await explained(config, 'connections', () => examineConnections(sql, config))),
        ...(databaseReadUrl === null ? [] : [await examineReplica(databaseReadUrl, sql, patienceMs)]),
        ...(await explained(config, 'schema', async () => [await examineSchema(sql)])),
        ...(await explained(config, 'clock', async () => [await examineClock(sql)])),
        ...(await explained(config, 'secret', () => compareSecrets(sql, config))),
      ];
      return { findings, localPorts: await findLocalPorts(sql).catch(() => null) };
    } finally {
      await database.close();
    }
  } catch (error) {
    // These messages end with what to do.
    if (error instanceof OperatorError)
      return { findings: [problem('database', error.message, null)], localPorts: null };
    throw error;
  }
}

/** A refusal in one check says nothing about the others. */
async function explained(config: Config, about: string, look: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await look();
  } catch (thrown) {
    const error = explainDatabaseError(thrown, config);
    if (error instanceof OperatorError) return [problem(about, error.message, null)];
    throw error;
  }
}

type ServerFacts = {
  version: string;
  user: string;
  owner: string;
  is_owner: boolean;
  name: string;
  is_read_only: boolean;
  off: string[];
};

async function examineServer(sql: SQL, config: Config): Promise<Finding[]> {
  const [facts] = await sql<[ServerFacts]>`
    select split_part(current_setting('server_version'), ' ', 1) as version,
           current_user as user, pg_get_userbyid(datdba) as owner, pg_has_role(datdba, 'usage') as is_owner, datname as name,
           current_setting('transaction_read_only')::boolean as is_read_only,
           array(select name from pg_settings where setting = 'off'
                 and name = any(${sql.array([...durabilitySettings], 'text')}::text[])) as off
    from pg_database where datname = current_database()`;
  const place = config.databaseUrl === null ? 'the embedded one' : `database "${facts.name}"`;
  const findings = [good('database', `PostgreSQL ${facts.version}, ${place}, as user "${facts.user}"`)];
  if (facts.is_read_only)
    findings.push(
      problem(
        'database',
        'Transactions are read-only.',
        'Point DATABASE_URL to the primary, and turn default_transaction_read_only off there.',
      ),
    );
  if (!facts.is_owner)
    findings.push(
      problem(
        'database',
        `It belongs to "${facts.owner}", not to "${facts.user}".`,
        `Run: alter database "${facts.name}" owner to "${facts.user}"`,
      ),
    );
  if (facts.off.length > 0)
    findings.push(
      warning(
        'database',
        `${facts.off.join(' and ')} is off, as TOLLGATE_ALLOW_UNSAFE allows: a crash can lose committed charges.`,
        'Turn it on wherever real money is involved.',
      ),
    );
  return findings;
}

async function examineSchema(sql: SQL): Promise<Finding> {
  const [{ is_there: isThere }] = await sql<[{ is_there: boolean }]>`
    select to_regclass('schema_migrations') is not null as is_there`;
  if (!isThere)
    return warning(
      'schema',
      'The database is empty.',
      'Run tollgate migrate, or tollgate serve without MIGRATE=off.',
    );
  await requireMigrated(sql);
  const [{ version }] = await sql<[{ version: number }]>`
    select max(version)::int as version from schema_migrations`;
  return good('schema', `version ${version}, as this program expects`);
}

async function examineClock(sql: SQL): Promise<Finding> {
  const askedAtMs = Date.now();
  const [{ database_ms: databaseMs }] = await sql<[{ database_ms: number }]>`
    select extract(epoch from clock_timestamp())::float8 * 1000 as database_ms`;
  return judgeOffset({ askedAtMs, answeredAtMs: Date.now(), databaseMs });
}

/** `judgeClock` is the gateway's own rule. */
export function judgeOffset(reading: Parameters<typeof judgeClock>[0]): Finding {
  const offsetMs = clockOffsetMs(reading);
  const seconds = `${(Math.abs(offsetMs) / 1000).toFixed(1)} s`;
  const text = `This machine is ${seconds} ${offsetMs > 0 ? 'ahead of' : 'behind'} the database.`;
  if (judgeClock(reading) === 'off')
    return problem('clock', text, 'Synchronise both with NTP: the gateway admits nothing until they agree.');
  if (Math.abs(offsetMs) > noticeableOffsetMs)
    return warning('clock', text, 'Synchronise both machines with NTP.');
  return good('clock', `within ${seconds} of the database`);
}

/** Whether DATABASE_READ_URL leads to a replica that the gateway would use. Without one it reads from the primary. */
async function examineReplica(url: string, primary: SQL, patienceMs: number): Promise<Finding> {
  const replica = new SQL({ ...connectionOptions(url, doctorName), max: 1 });
  try {
    const state = await within(patienceMs, compareReplica(replica, primary));
    if (state === 'close') return good('replica', 'DATABASE_READ_URL keeps up with the primary');
    return state === 'behind'
      ? warning(
          'replica',
          'DATABASE_READ_URL is too far behind: lists and reports come from the primary.',
          'Check pg_stat_replication on the primary.',
        )
      : warning(
          'replica',
          'DATABASE_READ_URL points to a server that accepts writes: lists and reports come from the primary.',
          'Point it to a standby of the primary, or leave it unset.',
        );
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return warning(
      'replica',
      `DATABASE_READ_URL cannot be reached: ${reason}. Lists and reports come from the primary.`,
      'Check DATABASE_READ_URL and that the replica is running.',
    );
  } finally {
    await replica.close({ timeout: 0 });
  }
}
