/** Earlier versions, from the history of the repository, with the packages that they name. */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { must } from './postgres.ts';

const root = join(import.meta.dir, '../../..');

/** Unpacks and installs a version into a cache outside the project, once, and returns its folder. */
export function installRelease(commit: string): string {
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'tollgate-operations');
  const folder = join(cache, commit);
  if (existsSync(folder)) return folder;
  if (!succeeds(['git', 'cat-file', '-e', `${commit}^{commit}`], root))
    throw new Error(
      `This clone does not have the commit ${commit}. The whole history is needed: git fetch --unshallow`,
    );
  const draft = `${folder}.draft`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  must(['git', 'archive', '--output', join(draft, 'release.tar'), commit], root);
  must(['tar', '-xf', 'release.tar'], draft);
  must(['npm', 'ci', '--omit=dev', '--no-audit', '--no-fund', '--loglevel=error'], draft);
  // It has another name until it is complete.
  renameSync(draft, folder);
  return folder;
}

function succeeds(command: readonly string[], cwd: string): boolean {
  return Bun.spawnSync([...command], { cwd, stdout: 'ignore', stderr: 'ignore' }).exitCode === 0;
}
