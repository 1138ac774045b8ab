/**
 * Compares this node's clock with the database's. A Generation's ID, its partition and the price in force follow from
 * the node's clock, so one that is far off must not open any.
 */
import type { Log } from '../lib/log.ts';

/** The database's clock, read at some moment between asking and the answer. */
export type ClockReading = Readonly<{ askedAtMs: number; answeredAtMs: number; databaseMs: number }>;

export type ClockVerdict = 'right' | 'off' | 'uncertain';

export const maxOffsetMs = 60_000;

/** How far this node is ahead of the database, taking the answer to have been made half way. */
export function clockOffsetMs({ askedAtMs, answeredAtMs, databaseMs }: ClockReading): number {
  return (askedAtMs + answeredAtMs) / 2 - databaseMs;
}

/** An answer that took long says little: only what holds for any moment in between is said. */
export function judgeClock(reading: ClockReading): ClockVerdict {
  const distanceMs = Math.abs(clockOffsetMs(reading));
  const doubtMs = Math.abs(reading.answeredAtMs - reading.askedAtMs) / 2;
  if (distanceMs - doubtMs > maxOffsetMs) return 'off';
  return distanceMs + doubtMs <= maxOffsetMs ? 'right' : 'uncertain';
}

export class DatabaseClock {
  readonly #nodeId: string;
  readonly #log: Log;
  /** As of the last reading that was certain. */
  #offsetMs = 0;
  #isOff = false;

  constructor(nodeId: string, log: Log) {
    this.#nodeId = nodeId;
    this.#log = log;
  }

  read(reading: ClockReading): void {
    const verdict = judgeClock(reading);
    if (verdict === 'uncertain') return;
    this.#offsetMs = clockOffsetMs(reading);
    const isOff = verdict === 'off';
    if (isOff === this.#isOff) return;
    this.#isOff = isOff;
    const facts = { nodeId: this.#nodeId, offsetMs: Math.round(this.#offsetMs) };
    if (isOff) this.#log.error("the clock is off from the database's, nothing is admitted", facts);
    else this.#log.info('the clock is right again', facts);
  }

  isOff(): boolean {
    return this.#isOff;
  }

  /** What is wrong, in words; null when nothing is. */
  problem(): string | null {
    return this.#isOff ? `off by ${Math.round(Math.abs(this.#offsetMs) / 1000)} s` : null;
  }
}
