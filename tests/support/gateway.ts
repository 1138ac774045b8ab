/** Runs the real program: the gateway as its own process on a real socket, and the command line. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Subprocess } from 'bun';

const program = join(import.meta.dir, '../../bin/tollgate');
const readyDeadlineMs = 30_000;

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
  const child = Bun.spawn([program, 'serve'], {
    env: { ...inherited(), PORT: '0', ...environment },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  let output = '';
  const collected = Promise.all([
    collect(child.stdout, (text) => {
      output += text;
    }),
    collect(child.stderr, (text) => {
      output += text;
    }),
  ]);
  const deadline = Date.now() + readyDeadlineMs;
  for (;;) {
    const origin = /"event":"listening","address":"([^"]+)"/.exec(output)?.[1];
    if (origin !== undefined) {
      return {
        origin,
        process: child,
        output: () => output,
        stop: async (signal = 'SIGTERM') => {
          child.kill(signal);
          const code = await child.exited;
          await collected;
          return code;
        },
      };
    }
    if (child.exitCode !== null || Date.now() > deadline) {
      child.kill('SIGKILL');
      await collected;
      throw new Error(`The gateway did not start:\n${output}`);
    }
    await Bun.sleep(10);
  }
}

export type CommandResult = Readonly<{ exitCode: number; stdout: string; stderr: string }>;

export async function tollgate(words: readonly string[], environment: Environment): Promise<CommandResult> {
  const child = Bun.spawn([program, ...words], {
    env: { ...inherited(), ...environment },
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

export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'tollgate-test-'));
}

export function writeCatalog(text: string, folder: string = temporaryFolder()): string {
  const file = join(folder, 'catalog.yaml');
  writeFileSync(file, text);
  return file;
}

/** Nothing of the developer's own settings reaches a test. */
function inherited(): Record<string, string> {
  return { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', TMPDIR: tmpdir() };
}

async function collect(stream: ReadableStream<Uint8Array>, add: (text: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  for await (const bytes of stream) add(decoder.decode(bytes, { stream: true }));
}
