/** How long to wait before another attempt: twice as long after each failure, up to a maximum. Attempts count from 0. */
export function backOffMs(attempt: number, firstMs: number, maxMs: number): number {
  return Math.min(firstMs * 2 ** attempt, maxMs);
}
