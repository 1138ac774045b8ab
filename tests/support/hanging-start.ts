/** A program whose start fails, and which cannot close what it has opened. The argument says how long it may try. */
import { createLog } from '../../src/lib/log.ts';
import { OperatorError } from '../../src/lib/operator-error.ts';
import { listenForSignals } from '../../src/operations/lifecycle.ts';
import { runToEnd } from '../../src/operations/run-to-end.ts';

await runToEnd({
  log: createLog('info'),
  signals: listenForSignals(),
  isReported: true,
  start: async (closers) => {
    const server = Bun.serve({ port: 0, fetch: () => new Response() });
    closers.add('server', () => server.stop(true));
    closers.add('what hangs', () => new Promise(() => undefined));
    throw new OperatorError('It does not start.');
  },
  explain: (error) => error,
  maxClosingMs: Number(process.argv[2]),
});
