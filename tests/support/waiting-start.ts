/** A program whose start waits forever, as for a frozen database. */
import { createLog } from '../../src/lib/log.ts';
import { listenForSignals } from '../../src/operations/lifecycle.ts';
import { runToEnd } from '../../src/operations/run-to-end.ts';

await runToEnd({
  log: createLog('info'),
  signals: listenForSignals(),
  isReported: true,
  start: () => new Promise(() => undefined),
  explain: (error) => error,
  noticeMs: 20,
});
