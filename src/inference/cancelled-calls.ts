/** Records what cancelled early calls may cost the operator. Nobody waits for it. */
import type { SQL } from 'bun';
import { isIntegrityError } from '../ledger/database-error.ts';
import { backOffMs } from '../lib/back-off.ts';
import type { Log } from '../lib/log.ts';
import { logSparingly } from '../lib/log-sparingly.ts';
import { formatMoney } from '../lib/money.ts';
import { within } from '../lib/within.ts';
import type { CancelledCall } from './early-calls.ts';

/** While the database is away, a few seconds' worth of calls at most are started early. */
const maxWaiting = 10_000;
const maxPerStatement = 500;
const patienceMs = 2_000;
const closingMs = 2_000;
const minPauseMs = 100;
const maxPauseMs = 1_000;

export class CancelledCalls {
  readonly #sql: SQL;
  readonly #waiting: CancelledCall[] = [];
  readonly #logLost: (call: CancelledCall) => void;
  #writing: Promise<void> | null = null;
  #isClosed = false;

  constructor(sql: SQL, log: Log) {
    this.#sql = sql;
    const logLost = logSparingly((fields) =>
      log.warn('the cost of a cancelled call was not recorded', fields),
    );
    this.#logLost = ({ generation: { model }, provider }) => logLost({ model, provider });
  }

  record(call: CancelledCall): void {
    if (this.#isClosed || this.#waiting.length >= maxWaiting) {
      this.#logLost(call);
      return;
    }
    this.#waiting.push(call);
    this.#writing ??= this.#write().finally(() => {
      this.#writing = null;
    });
  }

  /** Waits briefly for what is left. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#writing === null) return;
    await within(closingMs, this.#writing).catch(() => this.#drop(this.#waiting.length));
  }

  #drop(count: number): void {
    for (const call of this.#waiting.splice(0, count)) this.#logLost(call);
  }

  async #write(): Promise<void> {
    let atOnce = maxPerStatement;
    for (let failures = 0; this.#waiting.length > 0; ) {
      const calls = this.#waiting.slice(0, atOnce);
      try {
        await within(patienceMs, store(this.#sql, calls));
        this.#waiting.splice(0, calls.length);
        failures = 0;
      } catch (error) {
        // The database will never accept one of them, so they are tried one by one from here on.
        if (isIntegrityError(error)) {
          if (calls.length === 1) this.#drop(1);
          atOnce = 1;
          continue;
        }
        if (this.#isClosed) return this.#drop(this.#waiting.length);
        await Bun.sleep(backOffMs(failures, minPauseMs, maxPauseMs));
        failures += 1;
      }
    }
  }
}

/** Some of them may be stored already, if the outcome of an earlier attempt is unknown. */
async function store(sql: SQL, calls: readonly CancelledCall[]): Promise<void> {
  await sql`
    insert into cancelled_calls ${sql(calls.map(rowOf))}
    on conflict do nothing`;
}

function rowOf({ generation, provider, reason, endedAtMs, used: { usage, cost } }: CancelledCall) {
  return {
    id: generation.id,
    account_id: generation.accountId,
    model: generation.model,
    provider,
    reason,
    ended_at: new Date(endedAtMs).toISOString(),
    input_tokens: usage?.inputTokens ?? null,
    cache_read_tokens: usage?.cached?.read ?? null,
    cache_write_tokens: usage?.cached?.write ?? null,
    cache_write_long_tokens: usage?.cached?.writeLong ?? null,
    output_tokens: usage?.outputTokens ?? null,
    cost: cost === null ? null : formatMoney(cost),
    price_list_id: generation.priceListId,
  };
}
