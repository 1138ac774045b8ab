/** The dashboard's files in memory: what was built from these very sources before, or else built now. */
import { join } from 'node:path';
import { type Files, readFiles, stampOf, storeFiles } from '../../dashboard/build/dist.ts';
import type { Log } from '../lib/log.ts';

const sources = join(import.meta.dir, '../../dashboard');

export async function openDashboard(log: Log, folder: string = sources, build = buildNow): Promise<Files> {
  const stamp = await stampOf(folder);
  const kept = await readFiles(folder, stamp);
  if (kept !== null) return kept;
  const startedAt = performance.now();
  const files = await build();
  log.info('dashboard built', { latencyMs: Math.round(performance.now() - startedAt) });
  try {
    await storeFiles(folder, stamp, files);
  } catch (error) {
    log.warn('dashboard not kept: it is built again at the next start', { error });
  }
  return files;
}

async function buildNow(): Promise<Files> {
  // The bundler is loaded only by those who need it.
  const { buildDashboard } = await import('../../dashboard/build.ts');
  return await buildDashboard();
}
