import { afterAll } from 'bun:test';
import { stopCluster } from './cluster.ts';
import { removeTemporaryFolders } from './gateway.ts';

afterAll(async () => {
  await stopCluster();
  removeTemporaryFolders();
});
