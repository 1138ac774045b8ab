/** The dashboard's files in memory: what was built from these very sources before, or else built now. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Files, keepFiles, readFiles, stampOf } from '../../dashboard/build/dist.ts';
import type { Log } from '../lib/log.ts';
import { rootFolder } from '../lib/root-folder.ts';

const sources = join(rootFolder, 'dashboard');

export async function openDashboard(log: Log, folder: string = sources, build = buildNow): Promise<Files> {
  // The single executable carries the built files of one stamp, and no sources.
  const stamp = Bun.isStandaloneExecutable ? await onlyStamp(folder) : await stampOf(folder);
  const kept = await readFiles(folder, stamp);
  if (kept !== null) return kept;
  const startedAt = performance.now();
  const files = await build();
  log.info('dashboard built', { latencyMs: Math.round(performance.now() - startedAt) });
  try {
    await keepFiles(folder, stamp, files);
  } catch (error) {
    log.warn('dashboard not kept: it is built again at the next start', { error });
  }
  return files;
}

async function onlyStamp(folder: string): Promise<string> {
  const [stamp = ''] = await readdir(join(folder, 'dist'));
  return stamp;
}

async function buildNow(): Promise<Files> {
  // The bundler is loaded only by those who need it.
  const { buildDashboard } = await import('../../dashboard/build.ts');
  return await buildDashboard();
}
