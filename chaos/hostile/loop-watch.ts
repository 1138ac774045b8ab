/**
 * Loaded before a gateway, this notices when its event loop stands still: a short timer that fires late. Each long gap goes
 * to the file that `--gaps` names, with the time that the main thread had work but no processor, so that a stall can be told
 * from a busy machine. Nothing of this can be seen from outside.
 */
import { appendFileSync, openSync, readSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { isMainThread } from 'node:worker_threads';

export type Gap = Readonly<{
  atMs: number;
  /** How late the timer was. */
  gapMs: number;
  /** The processor time that the main thread had. */
  cpuMs: number;
  /** How long it could have run while others did; null where the system does not say. */
  waitedMs: number | null;
  /**
   * How long each processor of this machine, on average, was taken away by its host. The system counts that as processor
   * time of the thread that was running.
   */
  stolenMs: number | null;
}>;

const tickMs = 10;
/** Shorter gaps are not worth a line. */
const minMs = 20;

function watch(file: string): void {
  const readWaitedMs = openWaitingTime();
  const readStolenMs = openStolenTime();
  const look = () => ({
    at: performance.now(),
    cpuMs: readCpuMs(),
    waitedMs: readWaitedMs(),
    stolenMs: readStolenMs(),
  });
  const since = (now: number | null, then: number | null) =>
    now === null || then === null ? null : now - then;
  let before = look();
  const tick = () => {
    const gapMs = performance.now() - before.at - tickMs;
    if (gapMs >= minMs) {
      const gap: Gap = {
        atMs: Date.now(),
        gapMs,
        cpuMs: readCpuMs() - before.cpuMs,
        waitedMs: since(readWaitedMs(), before.waitedMs),
        stolenMs: since(readStolenMs(), before.stolenMs),
      };
      appendFileSync(file, `${JSON.stringify(gap)}\n`);
    }
    // Writing the line is not the gateway's work.
    before = look();
  };
  setInterval(tick, tickMs).unref();
}

function readCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** Linux counts for each thread the nanoseconds that it ran, and those that it waited for a processor. */
function openWaitingTime(): () => number | null {
  try {
    const file = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
    const text = Buffer.alloc(100);
    return () => {
      const length = readSync(file, text, 0, text.length, 0);
      return Number(text.toString('latin1', 0, length).split(' ')[1]) / 1_000_000;
    };
  } catch {
    return () => null;
  }
}

const jiffyMs = 10;

/** The first line of /proc/stat has the time that was stolen from all processors together in its ninth column. */
function openStolenTime(): () => number | null {
  try {
    const file = openSync('/proc/stat', 'r');
    const text = Buffer.alloc(200);
    return () => {
      const length = readSync(file, text, 0, text.length, 0);
      const columns = text.toString('latin1', 0, length).split('\n', 1)[0]?.split(/ +/) ?? [];
      return (Number(columns[8] ?? 0) * jiffyMs) / availableParallelism();
    };
  } catch {
    return () => null;
  }
}

const { values } = parseArgs({ options: { gaps: { type: 'string' } }, strict: false });
if (isMainThread && typeof values.gaps === 'string') watch(values.gaps);
