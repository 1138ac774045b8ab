/**
 * Whether a provider fails for many accounts at once. A request can cause most failures by itself, and anyone may have
 * several accounts, so this is weighed by account: only the last call of each counts, however many it makes. An account
 * that the provider has not served before does not count, because what it sends may never have worked.
 */

/** An account that has not called for this long does not count. Longer than a circuit stays open between probes. */
const memoryMs = 600_000;
const maxWitnesses = 500;
/** Fewer than these prove nothing: their own circuits protect them. */
const minFailing = 5;
/** The cost to accounts that did nothing wrong is bounded, because the failing ones may belong to one person. */
const outageEvery = 10;

/** `startedAtMs` is the start of the last one. */
export type Outage = Readonly<{ isOn: boolean; startedAtMs: number }>;

export const noOutage: Outage = { isOn: false, startedAtMs: Number.NEGATIVE_INFINITY };

/** An outage shuts those out who are not being served, for `openMs`, and begins at most once in ten times as long. */
export function outageAfter(
  outage: Outage,
  areManyFailing: boolean,
  { openMs }: Readonly<{ openMs: number }>,
  nowMs: number,
): Outage {
  if (outage.isOn === areManyFailing) return outage;
  if (outage.isOn) return { ...outage, isOn: false };
  return nowMs < outage.startedAtMs + outageEvery * openMs ? outage : { isOn: true, startedAtMs: nowMs };
}

type LastCall = Readonly<{ isFailure: boolean; atMs: number }>;

/** The accounts that a provider has served recently, and whether their last call failed. */
export class Witnesses {
  /** Those that called longest ago come first. */
  readonly #lastCalls = new Map<string, LastCall>();
  #failing = 0;

  noteSuccess(account: string, nowMs: number): void {
    this.#forget(account);
    this.#lastCalls.set(account, { isFailure: false, atMs: nowMs });
    this.#forgetOld(nowMs);
  }

  /** `counts` is false for somebody who may also have an account under another name. */
  noteFailure(account: string, counts: boolean, nowMs: number): void {
    this.#forgetOld(nowMs);
    const isKnown = this.#forget(account);
    if (!isKnown || !counts) return;
    this.#lastCalls.set(account, { isFailure: true, atMs: nowMs });
    this.#failing += 1;
  }

  /** Whether the account's last call was recent and succeeded. */
  isServed(account: string, nowMs: number): boolean {
    const last = this.#lastCalls.get(account);
    return last !== undefined && !last.isFailure && nowMs - last.atMs < memoryMs;
  }

  /** Whether at least five accounts fail, or `failures` if that is more, and at least half of all that called recently. */
  areManyFailing({ failures }: Readonly<{ failures: number }>, nowMs: number): boolean {
    this.#forgetOld(nowMs);
    return this.#failing >= Math.max(minFailing, failures) && this.#failing * 2 >= this.#lastCalls.size;
  }

  #forgetOld(nowMs: number): void {
    for (const [account, { atMs }] of this.#lastCalls) {
      if (this.#lastCalls.size <= maxWitnesses && nowMs - atMs < memoryMs) return;
      this.#forget(account);
    }
  }

  /** Whether there was anything to forget. */
  #forget(account: string): boolean {
    if (this.#lastCalls.get(account)?.isFailure === true) this.#failing -= 1;
    return this.#lastCalls.delete(account);
  }
}
