/**
 * The types of the console API that are about an account's money by month. Months and days are in UTC. They follow the
 * conventions of contract.ts.
 *
 * All sums are of ledger entries, by the time of the entry: a charge that was refunded in a later month is a charge in the
 * first and a refund in the second. Only so do they lead from one balance to the next, to the last digit. The page Usage
 * counts otherwise: by the day on which a request was billed, and net of refunds.
 */
import type { GrantCategory } from './contract.ts';

/** GET …/accounts/{account}/billing/months: up to the current one, the newest first. */
export type BillingMonths = {
  data: BillingMonth[];
  /**
   * So many entries have not been added up yet, which happens after an upgrade, that there are no statements for some minutes:
   * `data` is empty, and the other calls fail with `statements_not_ready`.
   */
  is_being_added_up: boolean;
};

export type BillingMonth = {
  /** YYYY-MM */
  month: string;
  /** The balance when it ended; of the current month, the balance now. */
  closing: string;
  /** Not over yet. */
  is_open: boolean;
  /** Its entries were moved to an archive before they were added up: only the balance is known. */
  is_archived: boolean;
};

/**
 * GET …/accounts/{account}/billing/months/{YYYY-MM}. `opening` and the amounts of all lines add up to `closing`.
 * GET …/billing/months/{YYYY-MM}.csv has the same by day, kind, category, model and key.
 */
export type MonthStatement = BillingMonth & {
  /** Null for what is archived. */
  detail: MonthDetail | null;
};

export type MonthDetail = {
  opening: string;
  /** In the order of a statement. Only those that occurred. */
  lines: StatementLine[];
  /** What requests cost, the most expensive first; days in their order. Each adds up to the lines `charge` and `refund`. */
  by_model: ChargedModel[];
  by_key: ChargedKey[];
  by_day: ChargedDay[];
};

/** What an entry is about. Amounts are as they move the balance: charges are negative. */
export type StatementLine = {
  kind: 'credit' | 'charge' | 'refund' | 'correction' | 'expiry' | 'void';
  /** Of a credit. Plain credit is paid. */
  category: GrantCategory | null;
  entries: number;
  amount: string;
};

export type Charged = {
  /** How many requests were charged. */
  requests: number;
  /** Both without a sign. */
  charged: string;
  refunded: string;
};
/** `model` and `key_id` are null for what the last row sums up, if there are more than fit on a page. */
export type ChargedModel = Charged & { model: string | null };
export type ChargedKey = Charged & { key_id: string | null; key_name: string | null };
export type ChargedDay = Charged & { day: string };
