/**
 * For something that may happen thousands of times a second while something else is broken: the first time is logged at
 * once, the rest as one line a second that says how often it happened.
 */
import type { LogFields } from './log.ts';

const everyMs = 1_000;

export function logSparingly(
  write: (fields: LogFields) => void,
  pauseMs: number = everyMs,
): (fields: LogFields) => void {
  let count = 0;
  let latest: LogFields = {};
  let timer: ReturnType<typeof setInterval> | null = null;

  function tick(): void {
    if (count > 0) {
      write({ ...latest, count });
      count = 0;
      return;
    }
    if (timer !== null) clearInterval(timer);
    timer = null;
  }

  return (fields) => {
    if (timer !== null) {
      count += 1;
      latest = fields;
      return;
    }
    write({ ...fields, count: 1 });
    timer = setInterval(tick, pauseMs);
    timer.unref();
  };
}
