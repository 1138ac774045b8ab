const patienceMs = 40_000;
const pollMs = 5;

/** Waits for a state, and says what it waited for in vain before the runner gives up on the test. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + patienceMs;
  while (!(await isSo())) {
    if (performance.now() > deadlineMs) throw new Error(`This did not happen: ${what}.`);
    await Bun.sleep(pollMs);
  }
}
