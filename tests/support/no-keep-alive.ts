/** Loaded before a gateway: however busy the machine is, no stream is silent for long enough to get a comment. */
import { maxSilenceMs } from '../../src/chat/keep-alive.ts';
import { Deadlines } from '../../src/lib/deadlines.ts';

const start = Deadlines.prototype.start;

Deadlines.prototype.start = function startLater(durationMs, expire) {
  return start.call(this, durationMs === maxSilenceMs ? 600_000 : durationMs, expire);
};
