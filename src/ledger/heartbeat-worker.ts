/**
 * The thread that renews the node's lease. It has an event loop and a connection of its own, so that the lease is kept
 * while the main thread is busy with something long. It beats on the main thread's behalf and not for ever: when that has
 * been silent for too long, the lease is left to run out.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { SQL } from 'bun';
import { repeat } from '../lib/repeat.ts';
import { within } from '../lib/within.ts';
import type { Beat, HeartbeatNews, HeartbeatOrder, HeartbeatTask, SignOfLife } from './heartbeat.ts';

const { connection, node, timings, signOfLife }: HeartbeatTask = workerData;
let sql = new SQL(connection);
let heard = { sign: signOfLife, atMs: performance.now() };
let sentReport: string | null = null;
let isStopped = false;

parentPort?.on('message', (order: HeartbeatOrder) => {
  if (order.kind === 'stop') stop();
  else heard = { sign: order.sign, atMs: performance.now() };
});
const beating = repeat(timings.beatMs, beat);
await beat();

async function beat(): Promise<void> {
  const silentMs = performance.now() - heard.atMs;
  if (silentMs > timings.silenceMs) return;
  try {
    tell({ kind: 'beat', beat: await within(timings.patienceMs, renew(heard.sign, silentMs)) });
  } catch (error) {
    if (isStopped) return;
    sentReport = null;
    tell({ kind: 'failed', error });
    // A connection that does not answer may never do so again.
    sql.close({ timeout: 0 }).catch(() => undefined);
    sql = new SQL(connection);
  }
}

async function renew({ nowMs, report }: SignOfLife, silentMs: number): Promise<Beat> {
  const [row] = await sql<[{ database_ms: number; gap_ms: number | null }]>`
    with before as (select heartbeat_at from nodes where id = ${node.id})
    insert into nodes (id, name, report) values (${node.id}, ${node.name}, ${report}::text::jsonb)
    on conflict (id) do update
    set heartbeat_at = now(), report = case when ${report !== sentReport}::boolean then excluded.report else nodes.report end
    returning extract(epoch from clock_timestamp())::float8 * 1000 as database_ms,
              (select extract(epoch from now() - heartbeat_at)::float8 * 1000 from before) as gap_ms`;
  sentReport = report;
  return { askedAtMs: nowMs + silentMs, databaseMs: row.database_ms, gapMs: row.gap_ms ?? 0 };
}

function tell(news: HeartbeatNews): void {
  parentPort?.postMessage(news);
}

/** With its timer, its connection and its port closed the thread has nothing left to wait for, and ends. */
function stop(): void {
  isStopped = true;
  beating.stop();
  sql.close({ timeout: 0 }).catch(() => undefined);
  parentPort?.close();
}
