/**
 * Runs the sandbox provider beside the gateway, on a loopback port of its own. It ends when its standard input does,
 * so it cannot outlive this process, even when this process is killed.
 */
import { join } from 'node:path';
import { OperatorError } from '../lib/operator-error.ts';

export type SandboxProcess = Readonly<{ baseUrl: () => string; stop: () => void }>;

const program = join(import.meta.dir, '../../sandbox/main.ts');
const restartMs = 500;

export async function startSandbox(onEnded: () => void): Promise<SandboxProcess> {
  let stopped = false;
  let current = await launch(0);

  /** Started again on the same port, the address that others hold stays true. */
  async function keepRunning(): Promise<void> {
    while (!stopped) {
      await current.ended;
      if (stopped) return;
      onEnded();
      await Bun.sleep(restartMs);
      current = await launch(current.port).catch(() => current);
    }
  }

  keepRunning().catch(onEnded);
  return {
    baseUrl: () => `http://127.0.0.1:${current.port}/v1`,
    stop: () => {
      stopped = true;
      current.stop();
    },
  };
}

async function launch(port: number): Promise<{ port: number; ended: Promise<unknown>; stop: () => void }> {
  const child = Bun.spawn([process.execPath, program, '--with-parent', '--port', `${port}`], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const announced = await readFirstLine(child.stdout);
  const listening: unknown = announced === null ? null : JSON.parse(announced);
  if (
    typeof listening === 'object' &&
    listening !== null &&
    'port' in listening &&
    typeof listening.port === 'number'
  ) {
    return { port: listening.port, ended: child.exited, stop: () => child.kill() };
  }
  child.kill();
  throw new OperatorError(
    'The sandbox provider does not start. Remove the providers with the adapter "sandbox" from the catalogue to do without it.',
  );
}

async function readFirstLine(stream: ReadableStream<Uint8Array>): Promise<string | null> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const bytes of stream) {
    text += decoder.decode(bytes, { stream: true });
    const end = text.indexOf('\n');
    if (end >= 0) return text.slice(0, end);
  }
  return null;
}
