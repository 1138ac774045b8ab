import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import { within } from '../lib/within.ts';

/** A request may be waiting for it. */
const patienceMs = 4_000;

export type PriceList = Readonly<{ version: string; digest: string; content: unknown }>;

/** Stores a price list permanently, once per content, and returns the ID by which Generations refer to it. */
export async function storePriceList(sql: SQL, { version, digest, content }: PriceList): Promise<number> {
  const digestBytes = Buffer.from(digest, 'hex');
  await sql`
    insert into price_lists (version, digest, content)
    values (${version}, ${digestBytes}, ${JSON.stringify(content)}::text::jsonb)
    on conflict (digest) do nothing`;
  // In a separate statement, because the one above cannot see a row that another node has just stored.
  const [row] = await sql<[{ id: number }]>`select id from price_lists where digest = ${digestBytes}`;
  return row.id;
}

/** The price list that Generations are charged by. It is stored with its catalogue, or as soon as the database is back. */
export class StoredPriceList {
  readonly #sql: SQL;
  readonly #list: PriceList;
  #id: number | null = null;

  constructor(sql: SQL, list: PriceList) {
    this.#sql = sql;
    this.#list = list;
  }

  /** Null until it is stored; nearly always known. */
  get knownId(): number | null {
    return this.#id;
  }

  /** Throws model_pricing_lookup_failed. */
  async store(): Promise<number> {
    try {
      this.#id ??= await within(patienceMs, storePriceList(this.#sql, this.#list));
      return this.#id;
    } catch (cause) {
      throw new ApiError('model_pricing_lookup_failed', { cause });
    }
  }
}
