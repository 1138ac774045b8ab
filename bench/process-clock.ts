/**
 * The CPU time of any process to the nanosecond, its ended threads included: the clock that Linux has for each process.
 * /proc shows the same in steps of 10 ms, too coarse for a second of little load.
 */
import { dlopen, ptr } from 'bun:ffi';

type ReadClock = (clock: number, into: ReturnType<typeof ptr>) => number;

const timespec = new BigInt64Array(2);
const readClock = openClock();

function openClock(): ReadClock | null {
  if (process.platform !== 'linux') return null;
  try {
    const library = dlopen('libc.so.6', { clock_gettime: { args: ['i32', 'ptr'], returns: 'i32' } });
    return library.symbols.clock_gettime;
  } catch {
    // Another C library goes by another name.
    return null;
  }
}

/** Null where there is no such clock, or no such process any more. */
export function processClockMicroseconds(processId: number): number | null {
  // How Linux numbers these clocks: MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED).
  const clock = (~processId << 3) | 2;
  if (readClock === null || readClock(clock, ptr(timespec)) !== 0) return null;
  return Number(timespec[0]) * 1e6 + Number(timespec[1]) / 1e3;
}
