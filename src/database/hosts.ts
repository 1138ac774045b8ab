/** The hosts that the database may be on, one of which is current, and how to follow it to another after a failover. */
import { SQL } from 'bun';
import { OperatorError } from '../lib/operator-error.ts';
import { within } from '../lib/within.ts';

const probePatienceMs = 4_000;

export class Hosts {
  readonly all: readonly SQL.Options[];
  #place = 0;

  constructor(all: readonly SQL.Options[]) {
    this.all = all;
  }

  get areSeveral(): boolean {
    return this.all.length > 1;
  }

  get current(): SQL.Options {
    return this.all[this.#place] ?? {};
  }

  get others(): readonly SQL.Options[] {
    return this.all.filter((_, place) => place !== this.#place);
  }

  /** For callers that find out whether a host accepts writes by using it. */
  moveOn(): void {
    this.#place = (this.#place + 1) % this.all.length;
  }

  /** Asks each in turn, the current one first; the first that accepts writes wins. True when that is another one. */
  async findPrimary(): Promise<boolean> {
    let problem: unknown = null;
    for (let step = 0; step < this.all.length; step += 1) {
      const place = (this.#place + step) % this.all.length;
      try {
        if (await acceptsWrites(this.all[place] ?? {})) {
          this.#place = place;
          return step > 0;
        }
        problem ??= new OperatorError('None of the hosts in DATABASE_URL accepts writes.');
      } catch (error) {
        if (!(problem instanceof OperatorError)) problem = error;
      }
    }
    throw problem;
  }
}

/** Throws when the host does not answer. */
export async function acceptsWrites(options: SQL.Options): Promise<boolean> {
  const sql = new SQL({ ...options, max: 1 });
  try {
    const [row] = await within(
      probePatienceMs,
      sql<[{ is_read_only: boolean }]>`
        select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as is_read_only`,
    );
    return !row.is_read_only;
  } finally {
    sql.close({ timeout: 0 }).catch(() => undefined);
  }
}
