/** The types of the console API that are about the operator's home. They follow the conventions of contract.ts. */
import type { Runway } from './contract.ts';
import type { Audit } from './operator-contract.ts';

/**
 * GET …/operator/home?range=24h|7d|30d → OperatorHome. `from` and `to` are the range that requests, calls and write-offs are
 * counted in, by when the request arrived; it is widened to whole minutes or hours, as that of the explorer.
 */
export type OperatorHome = {
  from: string;
  to: string;
  /** By whole days in UTC, including today: 1, 7 or 30 of them. */
  money: {
    from: string;
    to: string;
    now: HomeMoney;
    before: HomeMoney;
    /** Accounts that were charged less than their requests cost, since `from`: at least 7 days. The greatest loss first, and no more than 5. */
    below_cost: {
      from: string;
      data: { account: { id: string; name: string }; revenue: string; margin: string }[];
    };
  };
  /** The calls to each provider, the one with the most failures of its own first. */
  providers: (ProviderCalls & {
    /** As customers see it. */
    provider: string;
    /** In the period before; null when that is no longer known. */
    before: ProviderCalls | null;
  })[];
  /** The most frequent first. */
  refusals: { code: string; count: number }[];
  /**
   * Accounts whose requests were refused in the last 24 hours because too little was available, and whose last such request
   * would be again. The most refusals first, and no more than 5; `count` is how many there are, up to 50.
   */
  short_accounts: {
    count: number;
    data: {
      account: { id: string; name: string };
      refused: number;
      /** What the last of them would have held; null if that is not known. */
      needed: string | null;
      available: string;
    }[];
  };
  /** Those 20 that run dry first, of all that do within 30 days: the ones whose requests no longer fit, then by date. */
  dry_accounts: {
    account: { id: string; name: string };
    available: string;
    runway: Runway;
    /** What its requests usually hold: if that is more than what is available, they are refused. Null if it is not known. */
    typical_hold: string | null;
  }[];
  write_offs: {
    reasons: {
      reason: string;
      count: number;
      amount: string;
      /** Whose amount nobody knows. */
      unknown: number;
    }[];
    /** The newest first. */
    latest: {
      request_id: string;
      account: { id: string; name: string };
      reason: string;
      amount: string | null;
      at: string;
    }[];
  };
  failed_settlements: { count: number; oldest_at: string | null };
  /** Webhooks that fail now, or were disabled because they did; the longest first, and no more than 10 of them. */
  failing_webhooks: {
    count: number;
    data: {
      /** Null for one of the operator. */
      account: { id: string; name: string } | null;
      host: string;
      failing_since: string | null;
      is_disabled: boolean;
    }[];
  };
  /** Circuits that are open, or half open without a success since. */
  circuits: {
    provider: string;
    model: string;
    state: 'open' | 'half_open';
    /** On how many nodes. */
    nodes: number;
    failing_since: string | null;
    until: string | null;
  }[];
  nodes: {
    alive: number;
    /** Of the last 24 hours. */
    lost: number;
    /** Of the price lists that live nodes use; more than one while a new one spreads. */
    price_versions: string[];
    catalog_errors: { node: string; error: string }[];
  };
  /** The newest; null when there was none. */
  audit: (Pick<Audit, 'state' | 'is_full' | 'started_at' | 'finished_at'> & { violations: number }) | null;
  /** Of each provider, the newest final day that differs from its bill; if none does, the newest final one, or else the newest. */
  reconciliation: {
    provider: string;
    day: string;
    /** Null when there is no bill for the day. */
    difference: string | null;
    is_preliminary: boolean;
    compared_at: string;
    /** Of its last 31 days, the final ones with a bill. */
    days_compared: number;
    /** Those of them that differ by more than the tolerance. */
    days_outside: number;
  }[];
};

export type HomeMoney = {
  revenue: string;
  /** Including calls that no customer was charged for. */
  cost: string;
  margin: string;
  /** The part of the revenue whose cost is unknown. It is no part of the margin. */
  unpriced_revenue: string;
};

export type ProviderCalls = {
  succeeded: number;
  failed: number;
  /** The part of `failed` in which the provider rejected an invalid request, which is no failure of its own. */
  rejected: number;
  cancelled: number;
  /** Of those that succeeded; null without any. */
  duration_ms_p95: number | null;
};
