/** Shorter than the runner's timeout, which would not say what was missing. */
const deadlineMs = 45_000;

/** Polls until the result is neither false, null nor undefined. The error says what never came. */
export async function eventually<Found>(
  what: string,
  look: () => Found | Promise<Found>,
): Promise<Exclude<Found, false | null | undefined>> {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    const found = await look();
    if (found !== false && found !== null && found !== undefined)
      return found as Exclude<Found, false | null | undefined>;
    if (performance.now() > deadline) throw new Error(`Timed out waiting for ${what}.`);
    await Bun.sleep(10);
  }
}
