import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import { type PriceList, storePriceList } from '../pricing/price-list-store.ts';

/**
 * The number of a price list that Generations are charged by. It is stored before it is first used, which may be when a
 * catalogue is taken into use, or later, when the database was away then.
 */
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
      this.#id ??= await storePriceList(this.#sql, this.#list);
      return this.#id;
    } catch (cause) {
      throw new ApiError('model_pricing_lookup_failed', { cause });
    }
  }
}
