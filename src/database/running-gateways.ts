/**
 * Which gateways are running, and whether a migration would break them. A broken gateway fails requests, and keeps
 * writing to the ledger by rules that no longer hold.
 */
import { hostname } from 'node:os';
import type { SQL } from 'bun';
import { leaseMs as defaultLeaseMs } from '../lib/lease-duration.ts';
import { OperatorError } from '../lib/operator-error.ts';
import type { Migration } from './migration-files.ts';

type RunningGateway = Readonly<{
  id: string;
  name: string;
  /** Null for versions that do not report it. */
  version: string | null;
  newestMigration: number;
  heartbeatMs: number;
}>;

const pollMs = 200;
/** For the time that the last query takes. */
const slackMs = 1_000;
const maxShown = 10;
/** Since 0020, nodes report their newest migration. */
const newestOfSilent = 19;

/**
 * Waits for gateways that may be dead: one that was killed looks alive until its lease ends. Throws as soon as one that
 * would break sends another heartbeat.
 */
export async function requireNoneBroken(
  sql: SQL,
  pending: readonly Migration[],
  leaseMs: number,
): Promise<void> {
  const findBroken = async () =>
    (await findRunning(sql, leaseMs)).filter((gateway) => breaksOf(pending, gateway).length > 0);
  const heardOfMs = new Map<string, number>();
  const deadlineMs = performance.now() + leaseMs + slackMs;
  for (;;) {
    const broken = await findBroken();
    if (broken.length === 0) return;
    const isAlive = broken.some(({ id, heartbeatMs }) => (heardOfMs.get(id) ?? heartbeatMs) < heartbeatMs);
    if (isAlive || performance.now() > deadlineMs) throw new OperatorError(describe(broken, pending));
    for (const { id, heartbeatMs } of broken) heardOfMs.set(id, heartbeatMs);
    await Bun.sleep(pollMs);
  }
}

/** The ports of gateways on this machine, from the names of their nodes, such as host:8080 or host:8080 worker 1. */
export async function findLocalPorts(sql: SQL): Promise<ReadonlySet<number>> {
  const prefix = `${hostname()}:`;
  const ports = (await findRunning(sql, defaultLeaseMs))
    .filter(({ name }) => name.startsWith(prefix))
    .map(({ name }) => Number.parseInt(name.slice(prefix.length), 10));
  return new Set(ports.filter((port) => port > 0));
}

/** The migrations that would break this gateway. */
export function breaksOf(
  pending: readonly Migration[],
  { newestMigration }: Pick<RunningGateway, 'newestMigration'>,
): Migration[] {
  return pending.filter(({ compatibleWith }) => compatibleWith > newestMigration);
}

/**
 * Versions that do not report their newest migration had migrated the database when they started, so they are assumed to
 * know everything applied before. Through JSON, because columns are missing in older schemas.
 */
async function findRunning(sql: SQL, leaseMs: number): Promise<RunningGateway[]> {
  const [{ exists }] = await sql<[{ exists: boolean }]>`select to_regclass('nodes') is not null as exists`;
  if (!exists) return [];
  return await sql<RunningGateway[]>`
    select id, name, to_jsonb(nodes) ->> 'version' as version,
           coalesce((to_jsonb(nodes) ->> 'newest_migration')::integer, (
             select max(history.version) from schema_migrations as history
             where applied_at <= started_at and history.version <= ${newestOfSilent}), 0) as "newestMigration",
           extract(epoch from heartbeat_at)::float8 * 1000 as "heartbeatMs"
    from nodes
    where stopped_at is null and heartbeat_at > now() - make_interval(secs => ${leaseMs / 1000})
    order by name, id`;
}

function describe(broken: readonly RunningGateway[], pending: readonly Migration[]): string {
  const breaking = pending.filter((migration) =>
    broken.some((gateway) => breaksOf([migration], gateway).length > 0),
  );
  const shown = broken
    .slice(0, maxShown)
    .map(
      ({ name, version, newestMigration }) =>
        `  ${name} (${version === null ? 'an earlier version' : `version ${version}`}, newest migration ${padded(newestMigration)})`,
    );
  const rest = broken.length - shown.length;
  return [
    'Nothing was migrated, because it would break these running gateways:',
    ...shown,
    ...(rest > 0 ? [`  and ${rest} more`] : []),
    'These migrations would break them:',
    ...breaking.map(({ name }) => `  ${name}`),
    'Stop these gateways, run tollgate migrate, and start the new version: see "Upgrades" in docs/deployment.md.',
    'tollgate migrate --force does not wait for that. Their requests then fail, and tollgate ledger repair may be needed.',
  ].join('\n');
}

function padded(version: number): string {
  return `${version}`.padStart(4, '0');
}
