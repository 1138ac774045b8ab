/** Loaded before a gateway: a client that takes nothing is given up after two seconds, and not after thirty. */
import { Deadlines } from '../../src/lib/deadlines.ts';

const stalledMs = 30_000;
const start = Deadlines.prototype.start;

Deadlines.prototype.start = function startSooner(durationMs, expire) {
  return start.call(this, durationMs === stalledMs ? 2_000 : durationMs, expire);
};
