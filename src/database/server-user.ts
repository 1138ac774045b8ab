/**
 * PostgreSQL refuses to run as root. For root it is started inside a user namespace that maps root to nobody: the files
 * still belong to root, so it works even below a folder that only root can enter. Where namespaces are forbidden, as in
 * many containers, it runs as the real user nobody, with the capability to pass through folders it does not own.
 */
import { chownSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../lib/operator-error.ts';

type ProgramResult = Readonly<{ exitCode: number; message: string }>;

export type ServerUser = Readonly<{
  /** Runs a PostgreSQL program and blocks until it ends. */
  run: (command: readonly string[]) => ProgramResult;
  runAsync: (command: readonly string[]) => Promise<ProgramResult>;
  /** Gives a folder and its contents to the user that the server runs as. */
  adopt: (folder: string) => void;
}>;

const nobody = 65_534;
const namespacePrefix = ['unshare', '--user', `--map-user=${nobody}`, `--map-group=${nobody}`, '--'];
const nobodyPrefix = [
  'setpriv',
  `--reuid=${nobody}`,
  `--regid=${nobody}`,
  '--clear-groups',
  '--inh-caps=+dac_override',
  '--ambient-caps=+dac_override',
  // Without this, access(2) ignores the capability, and the programs do not find their own files.
  '--securebits=+no_setuid_fixup',
  '--',
];

export function serverUser(): ServerUser {
  if (process.getuid?.() !== 0) return withPrefix([], null);
  if (run([...namespacePrefix, 'true']).exitCode === 0) return withPrefix(namespacePrefix, 0);
  if (run([...nobodyPrefix, 'true']).exitCode === 0) return withPrefix(nobodyPrefix, nobody);
  throw new OperatorError(
    'PostgreSQL cannot run as root here, and neither unshare nor setpriv works. Start Tollgate as another user or set DATABASE_URL.',
  );
}

function withPrefix(prefix: readonly string[], owner: number | null): ServerUser {
  return {
    run: (command) => run([...prefix, ...command]),
    runAsync: (command) => runAsync([...prefix, ...command]),
    adopt: (folder) => {
      if (owner !== null && lstatSync(folder).uid !== owner) giveTo(owner, folder);
    },
  };
}

/** Detached, so that Ctrl-C in a terminal does not interrupt a start or a stop. */
const spawnOptions = { stdin: 'ignore', stdout: 'ignore', stderr: 'pipe', cwd: '/', detached: true } as const;

function run(command: readonly string[]): ProgramResult {
  try {
    const { exitCode, stderr } = Bun.spawnSync([...command], spawnOptions);
    return { exitCode, message: inOneLine(stderr.toString()) };
  } catch (error) {
    return notRun(error);
  }
}

async function runAsync(command: readonly string[]): Promise<ProgramResult> {
  try {
    const child = Bun.spawn([...command], spawnOptions);
    const [exitCode, words] = await Promise.all([child.exited, child.stderr.text()]);
    return { exitCode, message: inOneLine(words) };
  } catch (error) {
    return notRun(error);
  }
}

function notRun(error: unknown): ProgramResult {
  return { exitCode: 127, message: error instanceof Error ? error.message : String(error) };
}

function inOneLine(words: string): string {
  return words.trim().replaceAll(/\s*\n\s*/g, '; ');
}

/** Children first, so that a folder with the right owner needs no further look. */
function giveTo(owner: number, path: string): void {
  const entry = lstatSync(path);
  if (entry.isDirectory()) for (const name of readdirSync(path)) giveTo(owner, join(path, name));
  if (!entry.isSymbolicLink()) chownSync(path, owner, owner);
}
