import { expect } from 'bun:test';

/** Work that has to wait for the lock takes more than forty times as long. */
const maxSlowdown = 10;
const maxTries = 5;

/**
 * Expects `work` to take about as long beside something as alone. `beside` does that something while it awaits its argument.
 * It may be repeated: a machine that is busy with something else may slow down any try, but not one after the other.
 */
export async function expectNoSlowdown(
  work: () => Promise<unknown>,
  beside: (work: () => Promise<void>) => Promise<unknown>,
): Promise<void> {
  const slowdowns: number[] = [];
  do {
    const aloneMs = await durationOf(work);
    let besideMs = Number.POSITIVE_INFINITY;
    await beside(async () => {
      besideMs = await durationOf(work);
    });
    slowdowns.push(besideMs / aloneMs);
  } while (Math.min(...slowdowns) >= maxSlowdown && slowdowns.length < maxTries);
  expect(Math.min(...slowdowns)).toBeLessThan(maxSlowdown);
}

async function durationOf(work: () => Promise<unknown>): Promise<number> {
  const startedAtMs = performance.now();
  await work();
  return performance.now() - startedAtMs;
}
