/** A temporary folder and everything started in it, all of which is gone when the work is done or interrupted. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type Workshop = Readonly<{
  folder: string;
  /** Registers what ends a process. It may be called more than once. */
  onStop: (stop: () => Promise<void>) => void;
}>;

export async function withWorkshop(work: (workshop: Workshop) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'));
  const stops: (() => Promise<void>)[] = [];
  let closing: Promise<void> | null = null;
  const close = async () => {
    for (let stop = stops.pop(); stop !== undefined; stop = stops.pop()) await stop();
    rmSync(folder, { recursive: true, force: true });
  };
  const leave = (exitCode: number) => {
    closing ??= close();
    closing.catch(() => undefined).finally(() => process.exit(exitCode));
  };
  process.once('SIGINT', () => leave(130));
  process.once('SIGTERM', () => leave(143));
  try {
    await work({ folder, onStop: (stop) => stops.push(stop) });
  } finally {
    // After an interruption, the errors of the work do not matter, and the process exits on its own.
    if (closing !== null) await new Promise(() => undefined);
    closing = close();
    await closing;
  }
}
