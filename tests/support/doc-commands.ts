/** Runs the commands of a page of docs/ as they are written there. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Environment, programEnvironment, workingFolder } from './gateway.ts';

const root = join(import.meta.dir, '../..');

/** All blocks of the page in one shell, with `tollgate` in its path and the gateway's address. Returns what they print. */
export async function runPage(
  name: string,
  { gateway, environment }: Readonly<{ gateway: Readonly<{ origin: string }>; environment: Environment }>,
): Promise<Readonly<{ exitCode: number; output: string; problems: string }>> {
  const page = readFileSync(join(root, 'docs', name), 'utf8');
  const commands = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text]) => text).join('\n');
  const env = programEnvironment(environment);
  const child = Bun.spawn(['bash', '-euo', 'pipefail', '-c', commands], {
    cwd: workingFolder(),
    env: { ...env, PATH: `${join(root, 'bin')}:${env.PATH}`, GATEWAY: gateway.origin },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [output, problems] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return { exitCode: await child.exited, output, problems };
}
