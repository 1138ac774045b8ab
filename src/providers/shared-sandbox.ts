/**
 * Runs the sandbox provider alongside the gateway, on its own loopback port: one for everything in this process,
 * started when it is first needed. It ends when its standard input does, so it cannot outlive this process, even when
 * this process is killed.
 */
import { join } from 'node:path';
import { z } from 'zod';
import { OperatorError } from '../lib/operator-error.ts';
import { rootFolder } from '../lib/root-folder.ts';

export type Sandbox = Readonly<{ url: () => Promise<string>; stop: () => Promise<void> }>;

/** Callers that need it at the same time get the same process. */
export class SharedSandbox implements Sandbox {
  readonly #onEnded: () => void;
  #process: Promise<SandboxProcess> | null = null;

  constructor(onEnded: () => void) {
    this.#onEnded = onEnded;
  }

  readonly url = async (): Promise<string> => {
    this.#process ??= startSandbox(this.#onEnded).catch((error: unknown) => {
      this.#process = null;
      throw error;
    });
    return (await this.#process).baseUrl();
  };

  readonly stop = async (): Promise<void> => {
    const started = await this.#process?.catch(() => null);
    await started?.stop();
  };
}

type SandboxProcess = Readonly<{ baseUrl: () => string; stop: () => Promise<void> }>;

/** The single executable is the sandbox as well (scripts/executable.ts). */
const program = Bun.isStandaloneExecutable ? 'sandbox' : join(rootFolder, 'sandbox/main.ts');
const restartMs = 500;
const announcement = z.object({ port: z.int() });

async function startSandbox(onEnded: () => void): Promise<SandboxProcess> {
  let isStopped = false;
  let current = await launch(0);

  /** Restarts it on the same port, so that its address stays valid. */
  async function keepRunning(): Promise<void> {
    for (;;) {
      await current.ended;
      if (isStopped) return;
      onEnded();
      await Bun.sleep(restartMs);
      if (isStopped) return;
      current = await launch(current.port).catch(() => current);
      // `stop` was called during the launch, and did not know of this process.
      if (isStopped) return current.stop();
    }
  }

  keepRunning().catch(onEnded);
  return {
    baseUrl: () => `http://127.0.0.1:${current.port}/v1`,
    stop: () => {
      isStopped = true;
      return current.stop();
    },
  };
}

type Running = Readonly<{ port: number; ended: Promise<unknown>; stop: () => Promise<void> }>;

async function launch(port: number): Promise<Running> {
  const child = Bun.spawn([process.execPath, program, '--with-parent', '--port', `${port}`], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
    // In its own session: Ctrl-C in the terminal must not end it while the gateway drains.
    detached: true,
  });
  const announced = await readFirstLine(child.stdout);
  if (announced === null) {
    child.kill();
    throw new OperatorError(
      'The sandbox provider could not be started. To run without it, remove the providers with the adapter "sandbox" from the catalogue.',
    );
  }
  return {
    port: announcement.parse(JSON.parse(announced)).port,
    ended: child.exited,
    stop: async () => {
      await child.stdin.end();
      await child.exited;
    },
  };
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
