/** The dashboard's files in memory: from an earlier build of the same sources, or built now. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Files, readFiles, stampOf, storeFiles } from '../../dashboard/build/dist.ts';
import type { Log } from '../lib/log.ts';
import { rootFolder } from '../lib/root-folder.ts';

const sources = join(rootFolder, 'dashboard');

export async function openDashboard(log: Log, folder: string = sources, build = buildNow): Promise<Files> {
  // The single executable carries the built files of one stamp, and no sources.
  const stamp = Bun.isStandaloneExecutable ? await onlyStamp(folder) : await stampOf(folder);
  const built = await readFiles(folder, stamp);
  if (built !== null) return built;
  const startedAt = performance.now();
  const files = await build();
  log.info('dashboard built', { durationMs: Math.round(performance.now() - startedAt) });
  try {
    await storeFiles(folder, stamp, files);
  } catch (error) {
    log.warn('dashboard not stored: it will be built again at the next start', { error });
  }
  return files;
}

async function onlyStamp(folder: string): Promise<string> {
  const [stamp = ''] = await readdir(join(folder, 'dist'));
  return stamp;
}

async function buildNow(): Promise<Files> {
  // The bundler is loaded only when it is needed.
  const { buildDashboard } = await import('../../dashboard/build.ts');
  return await buildDashboard();
}
