/**
 * A node that does nothing but hold its lease, and whose event loop stands still from the moment it has said so until a
 * file is there, or nobody makes one any more. Ends with its lease on SIGTERM.
 */
import { existsSync } from 'node:fs';
import { SQL } from 'bun';
import { openLedger } from '../../src/ledger/ledger.ts';
import { openSpool } from '../../src/ledger/spool.ts';
import { createLog } from '../../src/lib/log.ts';
import { takeLease } from '../../src/nodes/lease.ts';
import { quickTimings } from './quick-lease.ts';

const {
  DATABASE_URL: url = '',
  NODE_ID: id = '',
  FOLDER: folder = '',
  FREE_FILE: freeFile = '',
  SILENCE_MS: silenceMs = String(quickTimings.silenceMs),
} = process.env;
const log = createLog('info');
const connection = { url, max: 1, bigint: true };
const ledger = openLedger(() => new SQL(connection), openSpool(folder, process.pid, id), log);
const lease = await takeLease({
  connection,
  ledger,
  node: { id, name: 'busy' },
  log,
  timings: { ...quickTimings, silenceMs: Number(silenceMs) },
});
async function end(): Promise<void> {
  await lease.stop();
  await ledger.close();
}

process.once('SIGTERM', () => {
  end().catch((error: unknown) => {
    log.error('not ended', { error });
    process.exitCode = 1;
  });
});
process.stdout.write('busy\n');
const givesUpAtMs = performance.now() + 60_000;
// Sleeping here keeps the event loop as still as computing would, and leaves the processor to others.
while (!existsSync(freeFile) && performance.now() < givesUpAtMs) Bun.sleepSync(5);
process.stdout.write('free\n');
