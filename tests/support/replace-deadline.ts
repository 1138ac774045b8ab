import { Deadlines } from '../../src/lib/deadlines.ts';

/** Every deadline of this process that lasts `fromMs` lasts `toMs` from now on. */
export function replaceDeadline(fromMs: number, toMs: number): void {
  const { start } = Deadlines.prototype;
  Deadlines.prototype.start = function startReplaced(durationMs, expire) {
    return start.call(this, durationMs === fromMs ? toMs : durationMs, expire);
  };
}
