/** The pause before an operation that was not committed is submitted again. */
import { backOffMs } from '../lib/back-off.ts';

const minPauseMs = 20;
const maxPauseMs = 1_000;

export async function pauseBeforeRetry(attempt: number): Promise<void> {
  await Bun.sleep(backOffMs(attempt, minPauseMs, maxPauseMs));
}
