/**
 * A node that only holds its lease, and whose event loop, once it has said so, stands still until a file exists, for a
 * minute at most. On SIGTERM it ends its lease and exits.
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
// Sleeping blocks the event loop just as computing would, and leaves the processor to others.
while (!existsSync(freeFile) && performance.now() < givesUpAtMs) Bun.sleepSync(5);
process.stdout.write('free\n');
