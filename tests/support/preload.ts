import { afterAll } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stopCluster } from './cluster.ts';
import { removeTemporaryFolders, stopLeftGateways } from './gateway.ts';
import { startRecorder } from './recorder.ts';

const recorder = startRecorder();
/** Where a run of everything collects which errors its processes met: none of them alone meets all. */
const seenFolder = process.env.TOLLGATE_SEEN_ERRORS;

afterAll(async () => {
  await stopLeftGateways();
  await stopCluster();
  removeTemporaryFolders();
  const seen = await recorder.check();
  if (seenFolder !== undefined)
    writeFileSync(join(seenFolder, `${crypto.randomUUID()}.json`), JSON.stringify(seen));
});
