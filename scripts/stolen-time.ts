/** How much of the processors' time the host of a virtual machine keeps for others, by /proc/stat. */
import { readFileSync } from 'node:fs';

/** In ticks since the machine started: of all processors together. */
export type ProcessorTimes = Readonly<{ used: number; stolen: number }>;

const none: ProcessorTimes = { used: 0, stolen: 0 };

export function readProcessorTimes(): ProcessorTimes {
  try {
    return parseProcessorTimes(readFileSync('/proc/stat', 'utf8'));
  } catch {
    // Only Linux has it.
    return none;
  }
}

/** Its first line: user, nice, system, idle, waiting for the disk, two kinds of interrupts, stolen. */
export function parseProcessorTimes(stat: string): ProcessorTimes {
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, stolen = 0] = stat
    .replace(/\n.*/s, '')
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return { used: user + nice + system + irq + softirq, stolen };
}

/** The part of the time that was wanted in between, and not given. */
export function stolenShare(before: ProcessorTimes, after: ProcessorTimes): number {
  const stolen = after.stolen - before.stolen;
  const wanted = after.used - before.used + stolen;
  return wanted === 0 ? 0 : stolen / wanted;
}
