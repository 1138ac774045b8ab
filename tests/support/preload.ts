import { afterAll } from 'bun:test';
import { stopCluster } from './cluster.ts';
import { removeTemporaryFolders } from './gateway.ts';
import { startRecorder } from './recorder.ts';

const recorder = startRecorder();

afterAll(async () => {
  await stopCluster();
  removeTemporaryFolders();
  await recorder.check(process.env.TOLLGATE_WHOLE_SUITE !== undefined);
});
