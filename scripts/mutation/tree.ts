/** A copy of the working tree in which files can be changed and tests run. */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Mutant } from './mutants.ts';

/** `late`: the tests did not end in time, or took too much memory. */
export type Verdict = 'killed' | 'late' | 'survived';

/** A mutant that allocates endlessly must not exhaust the machine's memory. */
const maxMemoryBytes = 3 * 1024 ** 3;
const memoryCheckMs = 250;

/** Of all trees. A mutant that never ends must not outlive the run that started it. */
const running = new Set<Bun.Subprocess>();

export function killRunningTests(): void {
  for (const child of running) child.kill('SIGKILL');
}

export class Tree {
  readonly folder = mkdtempSync(join(tmpdir(), 'tollgate-mutation-'));

  constructor(root: string) {
    const listed = Bun.spawnSync(['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
      cwd: root,
    });
    for (const name of listed.stdout.toString().split('\0').filter(Boolean))
      cpSync(join(root, name), join(this.folder, name));
    symlinkSync(join(root, 'node_modules'), join(this.folder, 'node_modules'));
    writeFileSync(join(this.folder, 'bunfig.toml'), '[test]\npreload = ["./scripts/mutation/preload.ts"]\n');
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Calls `use` while the mutant replaces the original. */
  async withMutant<Result>(
    { file, start, end, replacement }: Mutant,
    use: () => Promise<Result>,
  ): Promise<Result> {
    const path = join(this.folder, file);
    const original = readFileSync(path, 'utf8');
    writeFileSync(path, original.slice(0, start) + replacement + original.slice(end));
    try {
      return await use();
    } finally {
      writeFileSync(path, original);
    }
  }

  async test(tests: readonly string[], limitMs: number): Promise<Verdict> {
    const child = Bun.spawn([process.execPath, 'test', '--bail', '--timeout', '60000', ...tests], {
      cwd: this.folder,
      stdio: ['ignore', 'ignore', 'ignore'],
      timeout: limitMs,
      killSignal: 'SIGKILL',
    });
    running.add(child);
    const watch = setInterval(() => {
      if (memoryOf(child.pid) > maxMemoryBytes) child.kill('SIGKILL');
    }, memoryCheckMs);
    const exitCode = await child.exited;
    clearInterval(watch);
    running.delete(child);
    if (child.signalCode === 'SIGKILL') return 'late';
    return exitCode === 0 ? 'survived' : 'killed';
  }
}

/** 0 where the system does not say. */
function memoryOf(pid: number): number {
  try {
    const pages = readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1];
    return Number(pages) * 4096;
  } catch {
    return 0;
  }
}
