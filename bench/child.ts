/**
 * The processes of the bench and how they talk: the parent asks, the child answers, one question at a time. A child
 * ends with its parent, so that nothing is left behind when the bench is interrupted.
 */
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Workshop } from './workshop.ts';

export type Child<Question, Answer> = Readonly<{
  processId: number;
  ask: (question: Question) => Promise<Answer>;
}>;

/** None of the developer's own settings reach a subject. */
export function cleanEnvironment(extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: homedir(),
    TMPDIR: tmpdir(),
    // Bun sends 256 requests at a time unless told otherwise; the gateway's own start lifts this in the same way.
    BUN_CONFIG_MAX_HTTP_REQUESTS: '65336',
    ...extra,
  };
}

/** Starts a program of this folder and waits until it says that it is ready. */
export async function startChild<Question, Answer>(
  file: string,
  words: readonly string[],
  { folder, onStop }: Workshop,
): Promise<Child<Question, Answer>> {
  let answered = Promise.withResolvers<unknown>();
  const child = Bun.spawn([process.execPath, join(import.meta.dir, file), ...words], {
    cwd: folder,
    env: cleanEnvironment(),
    stdio: ['ignore', 'inherit', 'inherit'],
    ipc: (message: unknown) => answered.resolve(message),
    onExit: (_, code) => answered.reject(new Error(`bench/${file} ended with code ${code}.`)),
  });
  onStop(async () => {
    child.kill();
    await child.exited;
  });
  // A caller that waits for an answer is told; when nobody waits, the exit does not matter.
  answered.promise.catch(() => undefined);
  await answered.promise;
  return {
    processId: child.pid,
    ask: async (question) => {
      if (child.exitCode !== null) throw new Error(`bench/${file} has ended.`);
      answered = Promise.withResolvers();
      answered.promise.catch(() => undefined);
      child.send(question);
      return (await answered.promise) as Answer;
    },
  };
}

/** In the child: says that it is ready, then answers questions. */
export function answerParent<Question, Answer>(
  answer: (question: Question) => Promise<Answer> | Answer,
): void {
  process.on('message', (question) => {
    Promise.resolve(answer(question as Question)).then(
      (reply) => process.send?.(reply),
      (error: unknown) => {
        process.stderr.write(`${error instanceof Error ? error.stack : error}\n`);
        process.exit(1);
      },
    );
  });
  process.on('disconnect', () => process.exit(0));
  process.send?.('ready');
}

/** By a clock that reads the same in all processes of this machine, finer than `Date`. `ownMs` is by this process's own. */
export function sharedMs(ownMs = performance.now()): number {
  return performance.timeOrigin + ownMs;
}

/** A port that was free a moment ago. */
export function freePort(): number {
  const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } });
  const { port } = listener;
  listener.stop(true);
  return port;
}
