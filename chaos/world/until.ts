const patienceMs = 90_000;
const pollMs = 20;

/** Waits for a state, and throws when it is not reached. */
export async function until(what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + patienceMs;
  while (!(await isTrue())) {
    if (performance.now() > deadlineMs) throw new Error(`Timed out waiting until ${what}.`);
    await Bun.sleep(pollMs);
  }
}
