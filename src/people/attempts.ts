/**
 * Limits how often something may be tried. The counters are rows, so they apply to all nodes together, by the database's
 * clock; their names are keyed hashes, so that a reader of the table learns no addresses.
 */
import { createHmac } from 'node:crypto';
import type { SQL, TransactionSQL } from 'bun';
import { ApiError } from '../errors.ts';

/** At most `max` per period for one subject: all at once, or one every `period / max`. */
export type Limit = Readonly<{ scope: string; subject: string; max: number; periodSeconds: number }>;

export type Attempts = Readonly<{
  /**
   * Counts an attempt against all of these limits, or throws `too_many_attempts` and counts it against none. In a transaction
   * it counts only if that is committed.
   */
  take: (limits: readonly Limit[], transaction?: TransactionSQL) => Promise<void>;
  /** Undoes the count, because the attempt was not a guess. */
  giveBack: (limits: readonly Limit[]) => Promise<void>;
  /** Whether this user has signed in from this network before. */
  isFamiliar: (email: string, network: string) => Promise<boolean>;
  rememberNetwork: (email: string, network: string) => Promise<void>;
}>;

/** For what is left out quietly: whether it was counted, and may be done. */
export async function isWithin(attempts: Attempts, limits: readonly Limit[]): Promise<boolean> {
  try {
    await attempts.take(limits);
    return true;
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.code === 'too_many_attempts') return false;
    throw thrown;
  }
}

export function openAttempts(sql: SQL, key: Buffer): Attempts {
  const nameOf = (scope: string, ...subject: readonly string[]) =>
    createHmac('sha256', key)
      .update(JSON.stringify([scope, ...subject]))
      .digest();
  const rowsOf = (limits: readonly Limit[]) =>
    JSON.stringify(
      limits.map(({ scope, subject, max, periodSeconds }) => ({
        name: nameOf(scope, subject).toString('hex'),
        interval_ms: (periodSeconds * 1000) / max,
        period_ms: periodSeconds * 1000,
      })),
    );

  return {
    take: async (limits, transaction) => {
      const [row] = await (transaction ?? sql)<[{ wait_seconds: number }]>`
        select take_sign_in_attempt(${rowsOf(limits)}::text::jsonb) as wait_seconds`;
      if (row.wait_seconds > 0)
        throw new ApiError('too_many_attempts', { retryAfterSeconds: row.wait_seconds });
    },

    giveBack: async (limits) => {
      // Locked in the same order as in take, so there is no deadlock.
      await sql`
        with locked as materialized (
          select sign_in_attempts.name, interval_ms
          from jsonb_to_recordset(${rowsOf(limits)}::text::jsonb) as item (name text, interval_ms float8)
          join sign_in_attempts on sign_in_attempts.name = decode(item.name, 'hex')
          order by sign_in_attempts.name for update of sign_in_attempts
        )
        update sign_in_attempts
        set theoretical_arrival_at = theoretical_arrival_at - make_interval(secs => interval_ms / 1000.0)
        from locked where sign_in_attempts.name = locked.name`;
    },

    isFamiliar: async (email, network) => {
      const found =
        await sql`select 1 from familiar_networks where name = ${nameOf('familiar', email, network)}`;
      return found.length > 0;
    },

    rememberNetwork: async (email, network) => {
      await sql`
        insert into familiar_networks (name) values (${nameOf('familiar', email, network)})
        on conflict (name) do update set seen_at = now()`;
    },
  };
}
