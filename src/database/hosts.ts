/** The hosts that a URL names, and which of them accepts writes at the moment. */
import { SQL } from 'bun';
import { OperatorError } from '../lib/operator-error.ts';
import { within } from '../lib/within.ts';

const probePatienceMs = 4_000;

export class Hosts {
  readonly #options: readonly SQL.Options[];
  #place = 0;

  constructor(options: readonly SQL.Options[]) {
    this.#options = options;
  }

  get areSeveral(): boolean {
    return this.#options.length > 1;
  }

  get current(): SQL.Options {
    return this.#options[this.#place] ?? {};
  }

  get others(): readonly SQL.Options[] {
    return this.#options.filter((_, place) => place !== this.#place);
  }

  /** Asks each in turn, the current one first; the first that accepts writes wins. True when it is another one. */
  async findPrimary(): Promise<boolean> {
    let problem: unknown = null;
    for (let step = 0; step < this.#options.length; step += 1) {
      const place = (this.#place + step) % this.#options.length;
      try {
        if (await acceptsWrites(this.#options[place] ?? {})) {
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
