/** Runs the real program: the gateway as its own process on a real socket, and the command line. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Subprocess } from 'bun';

const root = join(import.meta.dir, '../..');
/** One script per program, built once per full run. The gateway starts in half the time that its sources take. */
const bundleFolder = process.env.TOLLGATE_TEST_BUNDLE;
const program = bundled('main') ?? [join(root, 'bin/tollgate')];
/** Enough for a busy machine. The runner itself gives up soon after. */
const readyDeadlineMs = 50_000;
const maxStopMs = 3_000;

export type Environment = Readonly<Record<string, string>>;

export type Gateway = Readonly<{
  origin: string;
  process: Subprocess;
  /** Everything it printed so far. */
  output: () => string;
  /** Asks it to stop and returns its exit code. */
  stop: (signal?: NodeJS.Signals) => Promise<number>;
}>;

export async function startGateway(environment: Environment): Promise<Gateway> {
  return await launchGateway(environment).listening;
}

export type LaunchOptions = Readonly<{
  command?: readonly string[];
  cwd?: string;
  stdin?: 'ignore' | 'pipe';
  /** In its own process group, as in a terminal. */
  detached?: boolean;
  /** How long it may take to listen. */
  readyMs?: number;
}>;

/** The gateway as soon as its process exists, and as soon as it listens. */
export function launchGateway(environment: Environment, options: LaunchOptions = {}) {
  const {
    command = [...program, 'serve'],
    cwd = workingFolder(),
    stdin = 'ignore',
    detached = false,
    readyMs = readyDeadlineMs,
  } = options;
  const child = Bun.spawn([...command], {
    cwd,
    env: programEnvironment({ PORT: '0', ...environment }),
    stdin,
    stdout: 'pipe',
    stderr: 'pipe',
    detached,
  });
  running.add(child);
  let output = '';
  const add = (text: string) => {
    output += text;
  };
  const collected = Promise.all([collect(child.stdout, add), collect(child.stderr, add)]);
  const ended = async () => {
    const code = await child.exited;
    running.delete(child);
    await collected;
    return code;
  };

  async function listening(): Promise<Gateway> {
    const deadline = Date.now() + readyMs;
    for (;;) {
      // As programs get it, or as a terminal shows it.
      const origin = /\blistening(?:","address":"| {2}address=)(http:[^\s"]+)/.exec(output)?.[1];
      if (origin !== undefined) {
        const stop = (signal: NodeJS.Signals = 'SIGTERM') => {
          child.kill(signal);
          return ended();
        };
        return { origin, process: child, output: () => output, stop };
      }
      if (child.exitCode !== null || Date.now() > deadline) {
        child.kill('SIGKILL');
        await collected;
        throw new Error(`The gateway did not start:\n${output}`);
      }
      await Bun.sleep(10);
    }
  }

  const whenListening = listening();
  // Some tests wait for its end instead.
  whenListening.catch(() => undefined);
  return { process: child, output: () => output, ended, listening: whenListening };
}

const running = new Set<Subprocess>();

/** A failed test may have left its gateways running, which would slow down all later ones. */
export async function stopLeftGateways(): Promise<void> {
  const left = [...running].filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
  running.clear();
  for (const child of left) child.kill();
  await Promise.race([Promise.all(left.map(({ exited }) => exited)), Bun.sleep(maxStopMs)]);
  for (const child of left) child.kill('SIGKILL');
}

export type CommandResult = Readonly<{ exitCode: number; stdout: string; stderr: string }>;

export async function tollgate(
  words: readonly string[],
  environment: Environment,
  command: readonly string[] = program,
): Promise<CommandResult> {
  const child = Bun.spawn([...command, ...words], {
    cwd: workingFolder(),
    env: programEnvironment(environment),
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr, exitCode] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ]);
  return { exitCode, stdout, stderr };
}

/** A command that must succeed, and its --json output. */
export async function tollgateJson<Output>(
  words: readonly string[],
  environment: Environment,
): Promise<Output> {
  const { exitCode, stdout, stderr } = await tollgate([...words, '--json'], environment);
  if (exitCode !== 0) throw new Error(`tollgate ${words.join(' ')} failed: ${stderr}`);
  return JSON.parse(stdout) as Output;
}

/** The program from its sources, with a script of this folder loaded before it. */
export function programWith(preload: string): string[] {
  return [process.execPath, '--preload', join(import.meta.dir, preload), join(root, 'src/cli/main.ts')];
}

/** The command for a program of the bundle. Null when there is no bundle. */
export function bundled(name: 'main' | 'quick-gateway' | 'sweeping-gateway'): string[] | null {
  return bundleFolder === undefined ? null : [process.execPath, join(bundleFolder, `${name}.js`)];
}

const temporaryFolders: string[] = [];

/** A folder that is removed after the run. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'));
  temporaryFolders.push(folder);
  return folder;
}

export function removeTemporaryFolders(): void {
  for (const folder of temporaryFolders.splice(0)) rmSync(folder, { recursive: true, force: true });
  emptyFolder = null;
}

export function writeCatalog(text: string, folder: string = temporaryFolder()): string {
  const file = join(folder, 'catalog.yaml');
  writeFileSync(file, text);
  return file;
}

export const shippedCatalog = join(root, 'catalog.yaml');
const smallCatalog = join(import.meta.dir, 'small-catalog.yaml');

/** None of the developer's own settings reach a test. */
export function programEnvironment(environment: Environment): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '',
    HOME: process.env.HOME ?? '',
    TMPDIR: tmpdir(),
    // The demo, which only the embedded database has, needs the shipped catalogue.
    TOLLGATE_CATALOG: 'DATABASE_URL' in environment ? smallCatalog : shippedCatalog,
    // The test server does not flush (cluster.ts).
    TOLLGATE_ALLOW_UNSAFE: 'fsync',
    // There is no balancer to wait for.
    DRAIN_DELAY_SECONDS: '0',
    // As bin/tollgate sets it.
    ...(bundleFolder === undefined ? {} : { BUN_CONFIG_MAX_HTTP_REQUESTS: '65336' }),
    ...environment,
  };
}

let emptyFolder: string | null = null;

/** A program reads the .env of its working directory, so it runs in one without. */
export function workingFolder(): string {
  emptyFolder ??= temporaryFolder();
  return emptyFolder;
}

async function collect(stream: ReadableStream<Uint8Array>, add: (text: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  for await (const bytes of stream) add(decoder.decode(bytes, { stream: true }));
}
