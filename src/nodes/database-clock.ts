/**
 * Compares this node's clock with the database's. A Generation's ID, its partition and its price list depend on the node's
 * clock, so a node whose clock is far off must not open any.
 */
import type { Log } from '../lib/log.ts';

/** The database's clock at some moment between the query and its answer. */
type ClockReading = Readonly<{ askedAtMs: number; answeredAtMs: number; databaseMs: number }>;

export const maxOffsetMs = 60_000;

/** How far this node is ahead of the database, if the database read its clock halfway between. */
export function clockOffsetMs({ askedAtMs, answeredAtMs, databaseMs }: ClockReading): number {
  return (askedAtMs + answeredAtMs) / 2 - databaseMs;
}

/** Uncertain unless the verdict is the same for every moment between the query and its answer. */
export function judgeClock(reading: ClockReading): 'right' | 'off' | 'uncertain' {
  const distanceMs = Math.abs(clockOffsetMs(reading));
  const uncertaintyMs = Math.abs(reading.answeredAtMs - reading.askedAtMs) / 2;
  if (distanceMs - uncertaintyMs > maxOffsetMs) return 'off';
  return distanceMs + uncertaintyMs <= maxOffsetMs ? 'right' : 'uncertain';
}

export class DatabaseClock {
  readonly #nodeId: string;
  readonly #log: Log;
  /** From the last reading that was certain. */
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
    if (isOff)
      this.#log.error("this node's clock differs from the database's, no requests are admitted", facts);
    else this.#log.info('the clock is right again', facts);
  }

  isOff(): boolean {
    return this.#isOff;
  }

  /** In words; null when the clock is right. */
  problem(): string | null {
    return this.#isOff ? `off by ${Math.round(Math.abs(this.#offsetMs) / 1000)} s` : null;
  }
}
