/** The operator's part of the console API. Everyone else gets a 403. */
import type {
  ChangeAction,
  ChangedObject,
  GenerationDetail,
  GrantCategory,
  Page,
  Payment,
  Role,
  Runway,
  StatementEntry,
} from './contract.ts';
import type { Allowance } from './grant-contract.ts';

/** GET /api/console/operator/accounts?search&limit&cursor → Page<OperatorAccount>, the newest first. */
export type OperatorAccount = {
  id: string;
  name: string;
  balance: string;
  held: string;
  is_suspended: boolean;
  keys_in_force: number;
  members: number;
  /** Charged in the calendar month (UTC). */
  month_spent: string;
  /** Of the catalogue; null for list prices. */
  price_group: string | null;
  created_at: string;
};
export type OperatorAccounts = Page<OperatorAccount>;
/** GET …/operator/accounts/{id} → OperatorAccountDetail. */
export type OperatorAccountDetail = OperatorAccount & {
  runway: Runway;
  /** What its requests usually hold; also by those that its balance refused; null without any in the last month. */
  typical_hold: string | null;
};

/** POST …/operator/accounts → OperatorAccount. Repeating a `reference` (a UUID) creates no second account. */
export type AccountDraft = { name: string; credit?: string; reference: string };
/** POST …/operator/accounts/{id}/credit → OperatorAccount. Repeating a `reference` (a UUID) credits nothing more. */
export type AccountCredit = {
  amount: string;
  memo: string | null;
  reference: string;
  grant?: GrantTerms | null;
};
/** Without them, a credit is paid for and stays until it is spent. */
export type GrantTerms = { category: GrantCategory; priority: number; expires_at: string | null };
/**
 * GET …/operator/accounts/{id}/grants?limit&cursor → Grants, as for members. GET …/grants/{grant}/void → VoidedGrant: what
 * voiding it would take now. POST voids it, for a reason that customers see; again, it changes nothing.
 */
export type GrantVoid = { reason: string };
export type VoidedGrant = {
  taken: string;
  /** By requests in progress. It leaves when they end. */
  kept: string;
};
/** POST …/operator/accounts/{id}/allowances → Allowance, of which the first is given at once. */
export type AllowanceDraft = Pick<Allowance, 'amount' | 'every' | 'priority' | 'note'>;
/** POST …/operator/accounts/{id}/allowances/{allowance}/end with an empty object → Allowance. What was given stays until its end. */
/**
 * POST …/operator/accounts/{id}/corrections → BookedMovement. A negative amount takes, at most what is not held. Without an
 * amount it undoes the entry: a credit or another correction. It is about an entry or a request, or about neither.
 */
export type AccountCorrection = ByHand & { entry_number: number | null; request_id: string | null };
/** POST …/operator/generations/{request_id}/refunds → BookedMovement. Without an amount: all that is left of the charge. */
export type GenerationRefund = ByHand;
/** `is_preview` shows what would be booked. Repeating a `reference` (a UUID) books nothing more. Customers see the reason. */
type ByHand = { amount: string | null; reason: string; reference: string; is_preview?: boolean };
export type BookedMovement = {
  account_id: string;
  /** Null in a preview. */
  entry_number: number | null;
  amount: string;
  /** After it. */
  balance: string;
  held: string;
  /** It was booked before with this reference. */
  is_repeated: boolean;
};
/** GET …/operator/accounts/{id}/ledger?limit&cursor → OperatorStatement, the newest entry first. */
export type OperatorStatement = Page<OperatorEntry> & { account: OperatorAccount };
export type OperatorEntry = StatementEntry & {
  /** Who made it; null for what the gateway booked by itself. */
  actor: { kind: 'operator' | 'shell' | 'token'; name: string } | null;
};
/** GET …/operator/payments?search&limit&cursor → Page<OperatorPayment>, the newest first. The search is for an account. */
export type OperatorPayment = Payment & {
  account: { id: string; name: string; is_suspended: boolean };
  /** Why it failed, or what does not fit; null when nothing is wrong. */
  problem: string | null;
  /** The ID of the payment at Stripe. */
  payment_intent: string | null;
  is_live: boolean;
  /** That the owner of the card has reported it as fraud. */
  warnings: { id: string; fraud_type: string; is_actionable: boolean; created_at: string }[];
  /** Why Stripe could not be asked the last time, or now; null when it could. */
  look_problem: string | null;
};
export type OperatorPayments = Page<OperatorPayment>;
/** GET …/operator/payments/stuck: those that Stripe could not be asked about, or that were paid but do not fit. */
export type StuckPayments = { data: OperatorPayment[] };
/**
 * POST …/operator/payments/{id}/refunds → OperatorPayment. The amount is what the customer gets back, with tax; null for all
 * that is left. Repeating a `reference` (a UUID) refunds nothing more. POST …/check with an empty object asks Stripe anew.
 */
export type PaymentRefund = { amount: string | null; reference: string };

/** POST …/operator/accounts/{id}/price-group → OperatorAccount. Null is for list prices. */
export type AccountPriceGroup = { price_group: string | null };
/**
 * GET …/operator/accounts/{id}/limits?key_id&end_user&limit&cursor → Page<Limit>, and POST → Limit, as for owners. PATCH and
 * DELETE …/operator/limits/{id} also change what owners have set.
 */
/** POST …/operator/accounts/{id}/suspend and …/resume → OperatorAccount */

/** GET …/operator/users?search&limit&cursor → Page<OperatorUser>, the newest first. */
export type OperatorUser = {
  id: string;
  email: string;
  name: string;
  /** Whether the user has proved that the address is theirs. Signing up does not prove it, using a link does. */
  email_verified: boolean;
  is_operator: boolean;
  accounts: { id: string; name: string; role: Role }[];
  sessions: number;
  last_signed_in_at: string | null;
  created_at: string;
};
export type OperatorUsers = Page<OperatorUser>;

/** The response to POST …/operator/users. The user chooses a password at that URL, once and within an hour. */
export type NewUser = { user: OperatorUser } & ResetLink;
/** POST …/operator/users → NewUser. A user who is not an operator needs an account. */
export type UserDraft = {
  email: string;
  is_operator?: boolean;
  account_id?: string | null;
  role?: Role;
};
/** Giving rights to a user whose address is not verified requires a confirmation. */
type Confirmation = { confirm_unverified?: boolean };
/** PATCH …/operator/users/{id} → OperatorUser. Operators cannot change this for themselves. */
export type UserChange = { is_operator: boolean } & Confirmation;
/** POST …/operator/users/{id}/memberships → OperatorUser. A user who is already a member gets this role. */
export type UserMembership = { account_id: string; role: Role } & Confirmation;
/** POST …/operator/users/{id}/reset-link → ResetLink */
export type ResetLink = { reset_url: string; expires_at: string };
/** POST …/operator/users/{id}/sign-out → SignedOut */
export type SignedOut = { sessions_ended: number };

/** GET …/operator/providers */
export type Providers = {
  data: {
    id: string;
    name: string;
    adapter: string;
    /** Whether its key is set, or it needs none. */
    is_configured: boolean;
    /** The variable that its key is read from; null when it needs none. */
    key_variable: string | null;
    /** One per model and node that has seen a failure. Empty when all is well. */
    circuits: ListedCircuit[];
    /** Since `attempts_since`. Requests that a provider rejected as invalid do not count as failed. */
    last_24_hours: { attempts: number; failed: number };
    /** The part of them whose requests came within the last hour. */
    last_hour: { attempts: number; failed: number };
  }[];
  /** The minute 24 hours ago, or from when on attempts are added up, after an upgrade. */
  attempts_since: string;
  /** The newest 50 attempts that failed within 24 hours. */
  failures: {
    request_id: string;
    account: { id: string; name: string };
    model: string;
    provider: string;
    attempt: number;
    error: string;
    upstream_status: number | null;
    at: string;
  }[];
};
export type ListedCircuit = {
  /** The name of the node. */
  node: string;
  model: string;
  state: 'closed' | 'open' | 'half_open';
  consecutive_failures: number;
  /** When an open circuit lets a probe through, or a paused provider is called again. */
  until: string | null;
  /** When it opened, if no call has succeeded since. Half open until then, even if nobody calls. */
  failing_since: string | null;
  /** For how many accounts it is open because of failures that only they have seen. */
  accounts_shut: number;
  /**
   * A problem since the last successful call that only the operator can fix: the provider rejects the key, the credit there
   * is used up, or the provider does not know the model.
   */
  setback: { kind: 'key' | 'credit' | 'model'; upstream_status: number | null; at: string } | null;
};

/** GET …/operator/catalog */
export type CatalogStatus = {
  file: string;
  price_version: string;
  loaded_at: string;
  /** SHA-256 of the price list. */
  digest: string;
  /** Why the current file was not loaded; null when it was. */
  error: { message: string; at: string } | null;
  /**
   * One sentence for each provider of a model that can be sold below cost, at list prices and in each price group, and for each
   * group that accounts are in and that the catalogue does not have. At most 100.
   */
  warnings: string[];
  /** With how many accounts each has. */
  price_groups: { name: string; price_version: string; accounts: number }[];
  providers: number;
  models: {
    id: string;
    name: string;
    workload: string;
    is_enabled: boolean;
    is_callable: boolean;
    /** Why it cannot be called, in a few words; null when it can. */
    reason: string | null;
    providers: { id: string; is_configured: boolean }[];
  }[];
};

/** GET …/operator/nodes: live nodes, then those that stopped or were lost within 24 hours. */
export type Nodes = { data: Node[]; lease_seconds: number };
export type Node = {
  id: string;
  name: string;
  state: 'alive' | 'stopped' | 'lost';
  started_at: string;
  heartbeat_at: string;
  open_generations: number;
  held: string;
  price_version: string | null;
  catalog_error: string | null;
  /** The node that serves this request. */
  is_this: boolean;
};

/**
 * POST …/operator/ledger-audit starts an audit in the background, of what is new since the last sound one or of everything,
 * unless one is running. GET → Audits: the newest 10, the newest first.
 */
export type AuditOrder = { is_full?: boolean };
export type Audits = { data: Audit[] };
export type Audit = {
  id: string;
  /** `failed`: it ended without a result, or its gateway died. */
  state: 'running' | 'sound' | 'broken' | 'failed';
  is_full: boolean;
  started_at: string;
  finished_at: string | null;
  steps_done: number;
  step_count: number;
  findings: { invariant: string; checked: number; violations: number }[];
  totals: {
    balance: string;
    held: string;
    written_off: string;
    /** Write-offs whose amount nobody knows: `written_off` does not include them. Absent from older audits. */
    unknown_write_offs?: number;
    /** The price of implausible usage that providers reported. It was not charged. */
    not_believed: string;
  } | null;
};

/** GET …/operator/dead-letters: the oldest 100 settlements that the database rejected. */
export type DeadLetters = { data: DeadLetter[]; total: number };
export type DeadLetter = {
  request_id: string;
  account: { id: string; name: string };
  /** The charge; null when there was none, or when the settlement can no longer be read. */
  amount: string | null;
  /** PostgreSQL's code, and the constraint, column or table that the error is about. */
  refusal: { code: string; about: string };
  at: string;
};

/**
 * GET …/operator/margins?from&to&by&order → Margins, by `day`, `model`, `provider`, `account` or `price_group`; …/margins.csv is the same as a
 * file. Days are UTC, both included. At most 500 rows, and the sum of the others. `order` is `revenue`, `lowest_margin` or
 * `highest_margin`; without it days are in their order, and otherwise the highest revenue comes first.
 */
export type Margins = {
  from: string;
  to: string;
  by: 'day' | 'model' | 'provider' | 'account' | 'price_group';
  totals: MarginFigures;
  /** `id` is the ID of an account, a day, or the name itself. An empty provider: from before providers were recorded. */
  rows: (MarginFigures & { id: string; name: string })[];
  others: (MarginFigures & { groups: number }) | null;
};
export type MarginFigures = {
  requests: number;
  /** What was charged. */
  revenue: string;
  /** What providers ask for what was charged, where it is known. */
  cost: string;
  /** Calls that a provider may bill although no customer was charged for them, and what it asks where it is known. */
  uncharged_attempts: number;
  uncharged_cost: string;
  /** The revenue whose cost is known, less both costs. */
  margin: string;
  /** Charged requests whose cost is unknown. Their revenue is part of `revenue`, not of `margin`. */
  unpriced_requests: number;
  unpriced_revenue: string;
  /** The uncharged attempts whose cost is unknown. */
  unknown_attempts: number;
};

/** A Generation of any account, as part of a RequestDetail (request-contract.ts). */
export type OperatorGeneration = GenerationDetail & {
  account: { id: string; name: string };
  /** What the provider reported, when it was implausible; null otherwise. */
  reported_usage: {
    input_tokens: number;
    output_tokens: number;
    /**
     * By the provider's own names, if its counts contradict each other. Then the lowest reading was charged. Null for what is
     * not a number.
     */
    counts: { name: string; count: number | null }[] | null;
  } | null;
};

/**
 * GET …/operator/reconciliation: what providers billed next to the metered cost, for the newest 31 days of each provider
 * whose bill was compared, the newest first. Days are in UTC.
 */
export type Reconciliation = { providers: ReconciledProvider[]; data: ReconciledDay[] };
/** Providers that have an admin key in the catalogue, or whose bill was read before. */
export type ReconciledProvider = {
  id: string;
  name: string;
  /** The variable that the admin key is read from; null when bills come from files. */
  key_variable: string | null;
  is_key_set: boolean;
  /** When a bill was last read and compared. */
  last_read_at: string | null;
  /** When this deployment reads it again by itself; null when it does not. */
  next_read_at: string | null;
  /** Why the last attempt failed; null when it did not. */
  error: { message: string; at: string } | null;
  /** What was odd about the last bill. */
  notes: string[];
};
export type ReconciledDay = {
  provider: string;
  day: string;
  charged: string;
  /** With what no customer was charged for. */
  metered: string;
  uncharged: string;
  /** Null when there is no bill for the day. So are `difference` and `is_within`. */
  billed: string | null;
  /** What was billed beyond the metered cost. */
  difference: string | null;
  tolerance: string;
  is_within: boolean | null;
  /** Whether the provider may still correct the day. */
  is_preliminary: boolean;
  compared_at: string;
  /** The bill before it changed, and when the change was seen. */
  changed: { at: string; before: string } | null;
};
/** GET …/operator/reconciliation/{provider}/{day} → { data: ReconciledDetail | null } */
export type ReconciledDetail = {
  /** The largest difference first. */
  models: {
    name: string;
    kind: 'model' | 'not_mapped' | 'not_a_model';
    metered: string;
    billed: string;
    difference: string;
    is_within: boolean;
  }[];
  /** What may explain the difference, in words. */
  explanations: { kind: string; text: string }[];
  /** Every version of the bill that was read, the newest first. */
  versions: {
    version: number;
    source: 'costs' | 'analytics' | 'cost_report' | 'file';
    billed: string;
    first_read_at: string;
    last_read_at: string;
  }[];
};

/** GET …/operator/tokens → { data: AdminToken[] }: tokens of the admin API, the newest first. */
export type AdminToken = {
  id: string;
  name: string;
  /** Such as tg_admin_…a1b2. */
  hint: string;
  state: 'active' | 'revoked' | 'expired';
  scopes: AdminScope[];
  /** The only addresses that it can be used from; null for all. */
  networks: string[] | null;
  requests_per_minute: number;
  /** The address of the operator who created it; null at the command line. */
  created_by: string | null;
  created_at: string;
  expires_at: string;
  revoked_at: string | null;
  last_used_at: string | null;
};
export type AdminScope = 'read' | 'accounts' | 'keys' | 'money' | 'catalogue';
/** POST …/operator/tokens → NewAdminToken. POST …/operator/tokens/{id}/revoke → AdminToken. */
export type AdminTokenDraft = {
  name: string;
  scopes: AdminScope[];
  networks?: string[] | null;
  requests_per_minute?: number;
  expires_at: string;
};
/** The secret is in this response only. */
export type NewAdminToken = { token: AdminToken; secret: string };

/** GET …/operator/audit-log?account&limit&cursor → Page<Change>: what everyone changed, the newest first. */
export type Change = {
  id: string;
  at: string;
  door: 'api' | 'cli' | 'dashboard';
  /** The name is an e-mail address, the name of a token, or `user@host`. */
  actor: { type: 'user' | 'token' | 'shell'; id: string | null; name: string };
  /** Where the request came from; null at the command line. */
  address: string | null;
  action: ChangeAction;
  account: { id: string; name: string } | null;
  object: ChangedObject | null;
  /** The fields that changed, as they were; null for what is new. */
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
};
export type AuditLog = Page<Change>;
