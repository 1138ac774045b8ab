/** What the operator tells the process. */
export type Signals = Readonly<{
  /** Resolves with the name of the first signal to stop. */
  stopRequested: Promise<string>;
  /** Says what SIGHUP does from now on. */
  onReload: (reload: () => void) => void;
}>;

/**
 * To be called before anything slow: until a handler is there, a signal ends the process. The handlers stay, because
 * Ctrl-C under npm arrives twice, from the terminal and from npm, and the second must not cut the drain short.
 */
export function listenForSignals(): Signals {
  const { promise: stopRequested, resolve } = Promise.withResolvers<string>();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => resolve(signal));
  let reload = () => {};
  process.on('SIGHUP', () => reload());
  return {
    stopRequested,
    onReload: (given) => {
      reload = given;
    },
  };
}
