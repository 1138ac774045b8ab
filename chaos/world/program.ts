/** Starts the programs of this checkout as separate processes. */
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { Subprocess } from 'bun';

const root = join(import.meta.dir, '../..');
const tollgateProgram = join(root, 'bin/tollgate');
/** Bun opens no more than 256 connections at once unless told to. */
const manyConnections = { BUN_CONFIG_MAX_HTTP_REQUESTS: '65336' };

/** What a run starts as separate processes. `chaos/main.ts` is all of them. */
export type ProgramName =
  | 'gateway'
  | 'deaf-port'
  | 'admission'
  | 'early-calls'
  | 'confirmations'
  | 'retries'
  | 'rolling';

export type Environment = Readonly<Record<string, string>>;

/** Settings of the developer's environment that would change what is measured. */
const unwanted = ['DATABASE_URL_FILE', 'TOLLGATE_ALLOW_UNSAFE', 'PUBLIC_URL', 'HOST'];

/** The scripts are loaded before the program; the words are for them and for it. */
export function programCommand(
  name: ProgramName,
  words: readonly string[] = [],
  preloads: readonly string[] = [],
): string[] {
  const scripts = preloads.flatMap((script) => ['--preload', script]);
  return [process.execPath, ...scripts, join(root, 'chaos/main.ts'), name, ...words];
}

/** `env` replaces itself with the program, so the process ID is the program's. */
function withEnvironment(environment: Environment, command: readonly string[]): string[] {
  const settings = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  return ['env', ...unwanted.flatMap((name) => ['-u', name]), ...settings, ...command];
}

/** What it prints is added to `logFile`. */
export function startGateway(
  environment: Environment,
  logFile: string,
  preloads: readonly string[],
  words: readonly string[],
): Subprocess {
  const command = programCommand('gateway', words, preloads);
  return startLogged(withEnvironment({ ...manyConnections, ...environment }, command), logFile);
}

export function startUpstream(port: number, requestLog: string, logFile: string): Subprocess {
  const words = ['--port', `${port}`, '--log', requestLog];
  return startLogged([process.execPath, join(root, 'sandbox/main.ts'), ...words], logFile);
}

function startLogged(command: readonly string[], logFile: string): Subprocess {
  const file = openSync(logFile, 'a');
  try {
    return Bun.spawn([...command], { stdin: 'ignore', stdout: file, stderr: file, cwd: root });
  } finally {
    closeSync(file);
  }
}

export type CommandResult = Readonly<{ exitCode: number; stdout: string; stderr: string }>;

export async function tollgate(words: readonly string[], environment: Environment): Promise<CommandResult> {
  return await run(withEnvironment(environment, [tollgateProgram, ...words]));
}

/** Runs a program that opens more connections at once than Bun allows by default. */
export async function runWithManyConnections(
  name: ProgramName,
  words: readonly string[],
): Promise<CommandResult> {
  return await run(withEnvironment(manyConnections, programCommand(name, words)));
}

async function run(command: readonly string[]): Promise<CommandResult> {
  const child = Bun.spawn([...command], { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  const [stdout, stderr, exitCode] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ]);
  return { exitCode, stdout, stderr };
}

/** A port that is free now. It stays fixed, so that clients find a restarted process where it was. */
export function freePort(): number {
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() });
  const { port } = server;
  server.stop(true).catch(() => undefined);
  if (port === undefined) throw new Error('No port is free.');
  return port;
}

/** The answer's status, or null when there is none. */
export async function statusOf(url: string): Promise<number | null> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000), keepalive: false });
    await response.text();
    return response.status;
  } catch {
    return null;
  }
}
