/** What single accounts have met with at a provider: only of those that a call has failed for, and of so many at most. */
import { type Circuit, canBegin, closedCircuit } from './circuit.ts';

export type AccountRecord = {
  circuit: Circuit;
  /** Until when the provider told this account to wait. */
  pausedUntilMs: number;
};

/** Whether a call of the account would be refused now. */
export function isShutFor({ circuit, pausedUntilMs }: AccountRecord, nowMs: number): boolean {
  return nowMs < pausedUntilMs || !canBegin(circuit, nowMs);
}

/** Beyond this the account whose failure is longest ago starts afresh. Long before, the provider is shut for everyone. */
const maxRecords = 500;

export class AccountRecords {
  readonly #records = new Map<string, AccountRecord>();

  /** Undefined for an account that nothing has failed for. */
  find(account: string): AccountRecord | undefined {
    return this.#records.get(account);
  }

  /** For an account that something fails for now. */
  findOrAdd(account: string): AccountRecord {
    const record = this.#records.get(account) ?? { circuit: closedCircuit, pausedUntilMs: 0 };
    // Again at the end, so that the first is always the one that failed longest ago.
    this.#records.delete(account);
    this.#records.set(account, record);
    if (this.#records.size > maxRecords) this.#forgetOldest();
    return record;
  }

  /** How many accounts the provider is shut for on their own account. */
  countShut(nowMs: number): number {
    let count = 0;
    for (const record of this.#records.values()) if (isShutFor(record, nowMs)) count += 1;
    return count;
  }

  #forgetOldest(): void {
    const { value: oldest } = this.#records.keys().next();
    if (oldest !== undefined) this.#records.delete(oldest);
  }
}
