import { afterAll } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stopCluster } from './cluster.ts';
import { removeTemporaryFolders, stopLeftGateways } from './gateway.ts';
import { startRecorder } from './recorder.ts';

const recorder = startRecorder();
/**
 * Where `npm test` collects which errors occurred: no single test file causes them all. The hook runs at the end of each
 * file, so it also shows how many have ended.
 */
const seenFolder = process.env.TOLLGATE_SEEN_ERRORS;

afterAll(async () => {
  await stopLeftGateways();
  await stopCluster();
  removeTemporaryFolders();
  let seen: string[] = [];
  try {
    seen = await recorder.check();
  } finally {
    if (seenFolder !== undefined)
      writeFileSync(join(seenFolder, `${crypto.randomUUID()}.json`), JSON.stringify(seen));
  }
});
