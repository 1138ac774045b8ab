/** The type of the console API for the page of a key. It follows the conventions of contract.ts. */
import type { Key } from './contract.ts';

/** GET …/accounts/{account}/keys/{id} → KeyDetail */
export type KeyDetail = Key & {
  /** At this moment: how many requests count towards `requests_per_minute`, and how many are in progress. */
  now: { rate_used: number; open: number };
};
