/** What a worker process and its parent tell each other, as the worker sees it. */
import { OperatorError } from '../lib/operator-error.ts';
import type { SignalControl } from './lifecycle.ts';

export type WorkerMessage = Readonly<{ kind: 'listening' } | { kind: 'sandbox' }>;
export type ParentMessage = Readonly<
  { kind: 'stop' } | { kind: 'hurry' } | { kind: 'reload' } | { kind: 'sandbox'; url: string | null }
>;

export type Parent = Readonly<{
  /** Reports that this worker accepts connections. */
  listening: () => void;
  /** The sandbox is one for all workers, and the parent runs it. */
  sandbox: Readonly<{ url: () => Promise<string>; stop: () => Promise<void> }>;
}>;

/** Does from now on what the parent says. When the parent is gone, the worker stops too. */
export function obeyParent(signals: SignalControl): Parent {
  let asked = Promise.withResolvers<string | null>();
  process.on('message', (message: ParentMessage) => {
    if (message.kind === 'stop') signals.stop('SIGTERM');
    else if (message.kind === 'hurry') signals.hurry();
    else if (message.kind === 'reload') signals.reload();
    else asked.resolve(message.url);
  });
  process.on('disconnect', () => signals.stop('disconnect'));

  async function sandboxUrl(): Promise<string> {
    asked = Promise.withResolvers();
    tell({ kind: 'sandbox' });
    const url = await asked.promise;
    if (url === null) throw new OperatorError('The sandbox provider does not start.');
    return url;
  }

  return {
    listening: () => tell({ kind: 'listening' }),
    sandbox: { url: sandboxUrl, stop: () => Promise.resolve() },
  };
}

function tell(message: WorkerMessage): void {
  process.send?.(message);
}
