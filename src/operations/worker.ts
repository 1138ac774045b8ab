/** The messages between a worker process and its parent, from the worker's side. */
import { OperatorError } from '../lib/operator-error.ts';
import type { SignalControl } from './lifecycle.ts';

export type WorkerMessage = Readonly<{ kind: 'listening' } | { kind: 'sandbox' }>;
export type ParentMessage = Readonly<
  { kind: 'stop' } | { kind: 'hurry' } | { kind: 'reload' } | { kind: 'sandbox'; url: string | null }
>;

export type Parent = Readonly<{
  /** Reports that this worker accepts connections. */
  listening: () => void;
  /** All workers share one sandbox, which the parent runs. */
  sandbox: Readonly<{ url: () => Promise<string>; stop: () => Promise<void> }>;
  /** Resolves when the parent is gone without having asked this worker to end. */
  lost: Promise<void>;
}>;

/** From now on this worker stops, hurries and reloads when its parent asks for it. Without a parent it stops too. */
export function followParent(signals: SignalControl): Parent {
  let asked = Promise.withResolvers<string | null>();
  process.on('message', (message: ParentMessage) => {
    if (message.kind === 'stop') signals.stop('SIGTERM');
    else if (message.kind === 'hurry') signals.hurry();
    else if (message.kind === 'reload') signals.reload();
    else asked.resolve(message.url);
  });
  const lost = Promise.withResolvers<void>();
  process.on('disconnect', () => {
    lost.resolve();
    signals.stop('disconnect');
  });

  async function sandboxUrl(): Promise<string> {
    asked = Promise.withResolvers();
    send({ kind: 'sandbox' });
    const url = await asked.promise;
    if (url === null) throw new OperatorError('The sandbox provider could not be started.');
    return url;
  }

  return {
    listening: () => send({ kind: 'listening' }),
    sandbox: { url: sandboxUrl, stop: () => Promise.resolve() },
    lost: lost.promise,
  };
}

function send(message: WorkerMessage): void {
  process.send?.(message);
}
