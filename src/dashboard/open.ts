/** The dashboard's files in memory: from an earlier build of the same sources, or built now. */
import { join } from 'node:path';
import { type Files, readFiles, stampOf, storeFiles } from '../../dashboard/build/dist.ts';
import type { Log } from '../lib/log.ts';

const sources = join(import.meta.dir, '../../dashboard');

export async function openDashboard(log: Log, folder: string = sources, build = buildNow): Promise<Files> {
  const stamp = await stampOf(folder);
  const built = await readFiles(folder, stamp);
  if (built !== null) return built;
  const startedAt = performance.now();
  const files = await build();
  log.info('dashboard built', { latencyMs: Math.round(performance.now() - startedAt) });
  try {
    await storeFiles(folder, stamp, files);
  } catch (error) {
    log.warn('dashboard not stored: it will be built again at the next start', { error });
  }
  return files;
}

async function buildNow(): Promise<Files> {
  // The bundler is loaded only when it is needed.
  const { buildDashboard } = await import('../../dashboard/build.ts');
  return await buildDashboard();
}
