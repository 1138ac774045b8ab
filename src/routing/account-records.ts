/** How individual accounts fare with a provider: a bounded number of records, only of accounts whose calls have failed. */
import { type Circuit, canBegin, closedCircuit } from './circuit.ts';

export type AccountRecord = {
  circuit: Circuit;
  /** Until when the provider asked this account to wait. */
  pausedUntilMs: number;
};

/** Whether a call of the account would not be let through now. */
export function isShutFor({ circuit, pausedUntilMs }: AccountRecord, nowMs: number): boolean {
  return nowMs < pausedUntilMs || !canBegin(circuit, nowMs);
}

/** Beyond this the account that failed longest ago starts over. */
const maxRecords = 500;

export class AccountRecords {
  readonly #records = new Map<string, AccountRecord>();

  /** Undefined for an account without failures. */
  find(account: string): AccountRecord | undefined {
    return this.#records.get(account);
  }

  /** For an account whose call has just failed. */
  findOrAdd(account: string): AccountRecord {
    const record = this.#records.get(account) ?? { circuit: closedCircuit, pausedUntilMs: 0 };
    // Moved to the end, so that the first is always the one that failed longest ago.
    this.#records.delete(account);
    this.#records.set(account, record);
    if (this.#records.size > maxRecords) {
      const [oldest = ''] = this.#records.keys();
      this.#records.delete(oldest);
    }
    return record;
  }

  /** How many accounts the provider is shut for because of their own failures. */
  countShut(nowMs: number): number {
    let count = 0;
    for (const record of this.#records.values()) if (isShutFor(record, nowMs)) count += 1;
    return count;
  }
}
