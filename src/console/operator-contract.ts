/** What the operator's part of the console API says. Only operators get an answer; everyone else a 403. */
import type { GenerationDetail, Page, Role } from './contract.ts';

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
  created_at: string;
};
export type OperatorAccounts = Page<OperatorAccount>;

/** POST …/operator/accounts → OperatorAccount. The same `reference` (a UUID) again makes no other account. */
export type AccountDraft = { name: string; credit?: string; reference: string };
/** POST …/operator/accounts/{id}/credit → OperatorAccount. The same `reference` (a UUID) again credits nothing more. */
export type AccountCredit = { amount: string; memo: string | null; reference: string };
/** POST …/operator/accounts/{id}/suspend and …/resume → OperatorAccount */

/** GET …/operator/users?search&limit&cursor → Page<OperatorUser>, the newest first. */
export type OperatorUser = {
  id: string;
  email: string;
  name: string;
  /** Whether someone has shown that the address is theirs. Who signed up by themselves has not, until they use a link. */
  email_verified: boolean;
  is_operator: boolean;
  accounts: { id: string; name: string; role: Role }[];
  sessions: number;
  last_signed_in_at: string | null;
  created_at: string;
};
export type OperatorUsers = Page<OperatorUser>;

/** The answer to POST …/operator/users: the user chooses a password at that address, once and within the hour. */
export type NewUser = { user: OperatorUser } & ResetLink;
/** POST …/operator/users → NewUser. Somebody who is no operator needs an account. */
export type UserDraft = {
  email: string;
  is_operator?: boolean;
  account_id?: string | null;
  role?: Role;
};
/** What gives rights to a user whose address is not verified is refused unless it is confirmed. */
type Confirmation = { confirm_unverified?: boolean };
/** PATCH …/operator/users/{id} → OperatorUser. Nobody can change this of themselves. */
export type UserChange = { is_operator: boolean } & Confirmation;
/** POST …/operator/users/{id}/memberships → OperatorUser. Who belongs to the account already gets the role. */
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
    /** Whether its key is there. */
    is_configured: boolean;
    /** Of each model that this provider serves, from each node that knows anything against it. Empty is a good sign. */
    circuits: Circuit[];
    /** Of the newest 100,000 attempts of all providers, which may be less than a day; see `attempts_since`. */
    last_24_hours: { attempts: number; failed: number };
  }[];
  /** Since when attempts are counted: 24 hours ago, or when the first of the newest 100,000 began. */
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
export type Circuit = {
  /** The name of the node. */
  node: string;
  model: string;
  state: 'closed' | 'open' | 'half_open';
  consecutive_failures: number;
  /** When an open circuit lets a probe through, or a paused provider is called again. */
  until: string | null;
  /** How many accounts it is shut for by what they alone have met with, while others are served. */
  accounts_shut: number;
  /**
   * What only the operator can put right, since the last call that succeeded: the provider refuses the key, there is no
   * credit left there, or it does not know the model.
   */
  setback: { kind: 'key' | 'credit' | 'model'; upstream_status: number | null; at: string } | null;
};

/** GET …/operator/catalog */
export type CatalogStatus = {
  file: string;
  price_version: string;
  loaded_at: string;
  /** SHA-256 of the price list: the same digest is the same prices. */
  digest: string;
  /** Why the file as it is now was not loaded; null when it was. */
  error: { message: string; at: string } | null;
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

/** GET …/operator/nodes: those that live, then those that stopped or were lost within 24 hours. */
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
  /** The one that answers this request. */
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
    /** What providers reported beyond what requests can have used, at its price. It was not charged. */
    not_believed: string;
  } | null;
};

/** GET …/operator/dead-letters: settlements that the database refused for good, the oldest 100 first. */
export type DeadLetters = { data: DeadLetter[]; total: number };
export type DeadLetter = {
  request_id: string;
  account: { id: string; name: string };
  /** What was to be charged; null when nothing was, or when it can no longer be read. */
  amount: string | null;
  /** PostgreSQL's code, and the constraint, column or table that it complained of. */
  refusal: { code: string; about: string };
  at: string;
};

/** GET …/operator/generations/{request_id}: any request of any account, to answer for it. */
export type OperatorGeneration = GenerationDetail & {
  account: { id: string; name: string };
  /** What the provider reported, when that was beyond what the request can have used; null when it was believed. */
  reported_usage: { input_tokens: number; output_tokens: number } | null;
};

/** GET …/operator/actions → { data: OperatorAction[] }: what operators did, the newest 100. */
export type OperatorAction = {
  id: string;
  action:
    | 'create_account'
    | 'credit_account'
    | 'suspend_account'
    | 'resume_account'
    | 'create_user'
    | 'make_reset_link'
    | 'sign_user_out'
    | 'make_operator'
    | 'unmake_operator'
    | 'add_member';
  operator: { id: string; email: string };
  account: { id: string; name: string } | null;
  user: { id: string; email: string } | null;
  /** What was credited. */
  amount: string | null;
  at: string;
};
