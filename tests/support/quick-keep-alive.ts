/** Loaded before a gateway: a client hears of a silent provider every 200 ms, and not every five seconds. */
import { maxSilenceMs } from '../../src/chat/keep-alive.ts';
import { Deadlines } from '../../src/lib/deadlines.ts';

const start = Deadlines.prototype.start;

Deadlines.prototype.start = function startSooner(durationMs, expire) {
  return start.call(this, durationMs === maxSilenceMs ? 200 : durationMs, expire);
};
