import type { Deadlines } from '../../src/lib/deadlines.ts';

/** Every one of these deadlines lasts this long from now on. */
export function replaceDuration(deadlines: Deadlines, durationMs: number): void {
  const start = deadlines.start.bind(deadlines);
  deadlines.start = (_durationMs, expire) => start(durationMs, expire);
}
