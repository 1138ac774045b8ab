/**
 * The thread that renews the node's lease. It has its own event loop and connection, so that the lease is renewed while the
 * main thread is blocked. When the main thread has been silent for too long, the lease is left to expire.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { SQL } from 'bun';
import { Hosts } from '../database/hosts.ts';
import { ReplaceableClient } from '../database/replaceable-client.ts';
import { repeat } from '../lib/repeat.ts';
import { within } from '../lib/within.ts';
import type { Beat, HeartbeatCommand, HeartbeatReport, HeartbeatTask, SignOfLife } from './heartbeat.ts';

const { node, timings, signOfLife, ...task }: HeartbeatTask = workerData;
const hosts = new Hosts(task.hosts);
const client = new ReplaceableClient(() => new SQL(hosts.current));
let heard = { sign: signOfLife, atMs: performance.now() };
let sentReport: string | null = null;
let isStopped = false;

parentPort?.on('message', (command: HeartbeatCommand) => {
  if (command.kind === 'stop') stop();
  else heard = { sign: command.sign, atMs: performance.now() };
});
const beating = repeat(timings.beatMs, beat);
await beat();

async function beat(): Promise<void> {
  const silentMs = performance.now() - heard.atMs;
  if (silentMs > timings.silenceMs) return;
  try {
    send({ kind: 'beat', beat: await within(timings.patienceMs, renew(heard.sign, silentMs)) });
  } catch (error) {
    if (isStopped) return;
    sentReport = null;
    send({ kind: 'failed', error });
    // A connection that does not answer may never do so again.
    hosts.moveOn();
    client.replace();
  }
}

async function renew({ nowMs, report }: SignOfLife, silentMs: number): Promise<Beat> {
  const [row] = await client.sql<[{ database_ms: number; gap_ms: number | null; live: LiveNode[] | null }]>`
    with before as (select heartbeat_at from nodes where id = ${node.id}),
         live as (select id, report -> 'calls' as calls from nodes
                  where id = ${node.id}
                     or (stopped_at is null and heartbeat_at > now() - make_interval(secs => ${timings.leaseMs / 1000})))
    insert into nodes (id, name, version, newest_migration, report)
    values (${node.id}, ${node.name}, ${node.version}, ${node.newestMigration}, ${report}::text::jsonb)
    on conflict (id) do update
    set heartbeat_at = now(), report = case when ${report !== sentReport}::boolean then excluded.report else nodes.report end
    returning extract(epoch from clock_timestamp())::float8 * 1000 as database_ms,
              (select extract(epoch from now() - heartbeat_at)::float8 * 1000 from before) as gap_ms,
              (select jsonb_agg(jsonb_build_object('id', id, 'calls', calls) order by id) from live) as live`;
  sentReport = report;
  const live = row.live ?? [];
  return {
    askedAtMs: nowMs + silentMs,
    databaseMs: row.database_ms,
    gapMs: row.gap_ms ?? 0,
    calls: live.map(({ calls }) => calls),
    place: live.findIndex(({ id }) => id === node.id),
  };
}

type LiveNode = Readonly<{ id: string; calls: unknown }>;

function send(report: HeartbeatReport): void {
  parentPort?.postMessage(report);
}

/** The thread ends when its timer, its connection and its port are closed. */
function stop(): void {
  isStopped = true;
  beating.stop();
  client.close(0).catch(() => undefined);
  parentPort?.close();
}
