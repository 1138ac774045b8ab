/** Runs an agent as the program that it is, in a home and a folder of its own. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../support/gateway.ts';
import type { Agent, AgentSettings } from './agents.ts';

/** An agent that takes longer retries in vain. */
const maxRunMs = 120_000;

/** What it printed, and the code that it ended with by itself; null if it had to be stopped. */
export type AgentRun = Readonly<{ output: string; exitCode: number | null }>;

export async function runAgent(
  { setUp }: Agent,
  modules: string,
  prompt: string,
  settings: Omit<AgentSettings, 'home'>,
): Promise<AgentRun> {
  const folder = temporaryFolder();
  const [home, work] = [join(folder, 'home'), join(folder, 'work')];
  mkdirSync(work);
  mkdirSync(home);
  const { program, words, environment } = setUp({ ...settings, home });
  const child = Bun.spawn([join(modules, 'node_modules/.bin', program), ...words, prompt], {
    cwd: work,
    env: { ...environment, PATH: process.env.PATH ?? '', HOME: home },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: maxRunMs,
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { output: `${stderr}${stdout}`.trim(), exitCode: child.signalCode === null ? child.exitCode : null };
}

/** Null if the file has this line, or does not exist if that is null. */
export function fileFlaw(path: string, expected: string | null): string | null {
  const written = existsSync(path) ? readFileSync(path, 'utf8') : null;
  return written === (expected && `${expected}\n`) ? null : `the file has ${JSON.stringify(written)}`;
}
