/**
 * The types of the console API, which the dashboard and the server share. Amounts are decimal strings with up to 12 digits,
 * times are ISO 8601 in UTC, days are `YYYY-MM-DD` in UTC.
 */
import type { presentGeneration } from '../generations/present.ts';
import type { PublicModel } from '../models/present.ts';

export type { DecisionAnswer, DecisionBody, DecisionErrorBody } from '../decisions/present.ts';

export type Role = 'owner' | 'member';

/** GET /api/console/me */
export type Me = {
  user: {
    id: string;
    email: string;
    name: string;
    is_operator: boolean;
    /** A new customer who has to verify the address first: every change is `email_verification_required`. */
    must_verify_email: boolean;
  };
  /** The user's accounts, the oldest first. */
  accounts: { id: string; name: string; role: Role; is_suspended: boolean; price_group: string | null }[];
  decisions: {
    is_configured: boolean;
    /** The model that requests must name; null when nothing is configured. */
    model: string | null;
  };
  /** The address that API clients use, without a path. */
  api_origin: string;
};

/** GET /api/console/sign-in-options, the only one that needs no session. */
export type SignInOptions = { sign_up: 'open' | 'closed'; password_reset: 'email' | 'operator' };

/** `next_cursor` is null on the last page. */
export type Page<Item> = { data: Item[]; has_more: boolean; next_cursor: string | null };

/** GET …/accounts/{account}/overview */
export type Overview = {
  balance: string;
  held: string;
  is_suspended: boolean;
  runway: Runway;
  /** What a request of this account usually holds; also by those that its balance refused; null without any in the last month. */
  typical_hold: string | null;
  attention: Attention[];
  /** What a new account gets to begin with; null when there is nothing to say about it. */
  welcome: WelcomeGrant | null;
};

export type Runway = {
  /**
   * How many more hours of use are paid for, at the average of those hours of the last 7 days in which something was spent;
   * null if there were none.
   */
  hours_left: number | null;
  /** Of the last 168 hours, those in which something was spent. */
  hours_used: number;
  /**
   * When nothing is left if all hours since the first of those go on as they were, counted as at least a day; now if a typical
   * request no longer fits. Null if nothing was spent, or it takes more than a year.
   */
  runs_out_at: string | null;
};

/** `pending` until the address is verified; not given if `refused`, because enough was given that day. */
export type WelcomeGrant =
  | { state: 'pending' | 'given'; amount: string; expires_at: string | null }
  | { state: 'refused' };

export type Attention =
  | { kind: 'account_suspended' }
  /** `balance` excludes holds, and `runs_out_at` is that of the runway. */
  | { kind: 'balance_empty' | 'balance_low'; balance: string; runs_out_at: string | null }
  /** What is available is less than requests usually hold, so they are rejected. */
  | { kind: 'balance_blocked'; balance: string; typical_hold: string }
  /** `spent` includes holds, as the limit does. */
  | { kind: 'key_near_limit' | 'key_at_limit'; key_id: string; name: string; spent: string; limit: string }
  /** What is left of the monthly limit is less than its requests usually hold, so they are rejected. */
  | { kind: 'key_blocked'; key_id: string; name: string; left: string; typical_hold: string }
  | { kind: 'key_expiring' | 'key_expired'; key_id: string; name: string; expires_at: string }
  | { kind: 'model_unavailable'; model: string; provider: string; until: string | null };

/**
 * GET …/accounts/{account}/keys → Keys, the newest first: all in force, and the newest 200 of the others. `limited` has those
 * that have limits besides their settings.
 */
export type Keys = { data: Key[]; limited: { key_id: string; limits: number }[] };
export type Key = {
  id: string;
  name: string;
  /** Such as svc_sk_…a1b2. */
  hint: string;
  /** `replaced` is in force until revoked_at, which is in the future. */
  state: 'active' | 'replaced' | 'revoked' | 'expired';
  requests_per_minute: number;
  /** How many of its requests may be in progress at once. */
  max_concurrent: number;
  monthly_limit: string | null;
  /** Null allows every model. */
  allowed_models: string[] | null;
  expires_at: string | null;
  revoked_at: string | null;
  created_at: string;
  last_used_at: string | null;
  month_spent: string;
  held: string;
  /** What is left of the monthly limit, without what is held; never below zero. Null without one, or for a key that has ended. */
  month_left: string | null;
  /** What its requests usually hold. Null if none completed in the last month, and where `month_left` is. */
  typical_hold: string | null;
};

/**
 * POST …/keys. Owners only. An account has at most 1,000 keys in force: creating, changing or replacing a key fails with
 * `too_many_keys` beyond that. The defaults are 600 requests per minute, 200 at once, and no other limits.
 */
export type KeyDraft = {
  name: string;
  requests_per_minute?: number;
  max_concurrent?: number;
  monthly_limit?: string | null;
  allowed_models?: string[] | null;
  expires_at?: string | null;
};

/** PATCH …/keys/{id} → Key. Owners only. Omitted fields do not change. A revoked key cannot be changed. */
export type KeyChange = Partial<KeyDraft>;

/**
 * POST …/keys/{id}/replace. Owners only. The new key has the same settings; the old one ends at `revoke_at`, at most 30
 * days ahead; null means now. Only an active key can be replaced.
 */
export type KeyReplacement = { revoke_at: string | null };

/** POST …/keys/{id}/revoke with an empty object → Key. Owners only. Revoking again changes nothing. */

/** The response to POST …/keys and …/replace, the only one that contains the secret. */
export type NewKey = { key: Key; secret: string };

/** GET …/accounts/{account}/limits?key_id&end_user&limit&cursor → Page<Limit>, the newest first. */
export type Limit = {
  id: string;
  account_id: string;
  /** `each_end_user` is for those that have no limit of their own of this kind. */
  scope: 'account' | 'key' | 'end_user' | 'each_end_user';
  /** For the scope `key`. */
  key_id: string | null;
  key_name: string | null;
  /** For the scope `end_user`. */
  end_user: string | null;
  kind: LimitKind;
  /** Owners change only those of their account. */
  set_by: 'operator' | 'account';
  /** In USD, requests or tokens. */
  amount: string;
  /** Added to the amount until then. */
  increase: LimitIncrease | null;
  /** In the current window; null for each end user. */
  used: string | null;
  /** By requests in progress; null for each end user. */
  held: string | null;
  /** Null if it counts from the beginning of the current window on. */
  counted_since: string | null;
  /** When the next window begins; null without windows. */
  resets_at: string | null;
  created_at: string;
  updated_at: string;
};
export type LimitKind =
  | 'spend_per_day'
  | 'spend_per_week'
  | 'spend_per_month'
  | 'requests_per_minute'
  | 'tokens_per_minute'
  | 'concurrent_requests';
export type LimitIncrease = { amount: string; until: string };

/** POST …/limits → Limit. Owners only. A limit of a key is one of spend by day or week, or tokens. */
export type LimitDraft = Pick<Limit, 'scope' | 'kind' | 'amount'> &
  Partial<Pick<Limit, 'key_id' | 'end_user' | 'increase'>>;

/** PATCH …/limits/{id} → Limit. DELETE …/limits/{id} → 204. Owners only, and not for what the operator has set. */
export type LimitChange = Partial<Pick<Limit, 'amount' | 'increase'>>;

/**
 * GET …/accounts/{account}/models: as /v1/models, for a key without an allowlist. `price_group` is the group whose prices
 * these are; null for list prices.
 */
export type Models = { data: Model[]; price_group: string | null };
export type Model = PublicModel & {
  /** Who made it, as a name for people. */
  maker: string;
  /** Where it can be called. Null when no endpoint can, as for videos. */
  endpoint: '/v1/chat/completions' | '/v1/images/generations' | null;
  /** What an image model offers, the default first. Empty for other models. */
  sizes: string[];
  /** How many images one request may ask for. Zero for other models. */
  max_images: number;
};

/** A Generation, as part of a RequestDetail (request-contract.ts). */
export type GenerationDetail = ReturnType<typeof presentGeneration> & {
  key: { id: string; name: string; hint: string };
  /**
   * The cost by meter: all but `output` add up to the input and its cost. Those of caches are there only if they have
   * tokens. Null when nothing was charged, or not by the token.
   */
  meters: MeteredCost[] | null;
  /** Null while the request is open. */
  ledger: {
    charged: string;
    /** What was refunded in all; null when nothing was. */
    refunded: string | null;
    /** The oldest first. Without a reason, the gateway took back what was left of the charge: it could not deliver the response. */
    refunds: { amount: string; reason: string | null; at: string }[];
    /** The gateway ended the call itself, and charged a conservative estimate. */
    is_estimated: boolean;
    written_off: string | null;
    write_off_reason: string | null;
  } | null;
  /** The grants that the charge was drawn from. Empty where money is not told apart. */
  draws: GrantDraw[];
};

export type MeteredCost = {
  meter: 'fresh_input' | 'cache_read' | 'cache_write' | 'cache_write_long' | 'output';
  tokens: number;
  /** What was charged: less than its price if the balance did not cover all of the request. */
  cost: string;
};

/**
 * GET …/usage?from&to (days, both included, at most 366; the default is the last 30). More than 50,000 rows are an
 * `invalid_parameter`: usage.csv has no such limit.
 */
export type Usage = {
  from: string;
  to: string;
  totals: UsageFigures;
  /** One row per day, model and key with usage, in that order. */
  rows: (UsageFigures & { day: string; model: string; key_id: string; key_name: string })[];
};
export type UsageFigures = {
  requests: number;
  input_tokens: number;
  output_tokens: number;
  images: number;
  cost: string;
  /** Parts of the input. */
  cache_read_tokens: number;
  cache_write_tokens: number;
  /** How much less the input cost than at its full price; negative if it cost more. */
  cache_saved: string;
};
/** GET …/usage.csv?from&to: the same rows as a file. */

/** GET …/ledger?limit&cursor → Statement, the newest entry first. */
export type Statement = Page<StatementEntry> & { balance: string; held: string };
export type StatementEntry = LedgerEntry & {
  /** The grants that it was drawn from, or given back to. Empty where money is not told apart. */
  draws: GrantDraw[];
};
export type LedgerEntry = {
  number: number;
  /** A refund returns the charge of the same Generation, or a part of it. `expiry` and `void`: what was left of a grant that has ended. */
  kind: 'credit' | 'charge' | 'refund' | 'correction' | 'expiry' | 'void';
  /** Negative for a charge, an expiry and a void. Either for a correction. */
  amount: string;
  /** A charge for a call that the gateway ended before the provider reported usage. */
  is_estimated: boolean;
  balance_after: string;
  /** Of a correction, or a refund by hand: the reason. */
  memo: string | null;
  /** As it was given; null where there is none. */
  reference: string | null;
  /** The request that it is for, or that a correction is about. */
  generation: { id: string; model: string | null } | null;
  /** The number of the entry that a correction is about, or of the grant that has ended. */
  concerns_entry: number | null;
  /** Whether someone made it: not so for charges, and for refunds of responses that could not be delivered. */
  is_by_hand: boolean;
  created_at: string;
};

export type GrantCategory = 'paid' | 'promotional' | 'allowance';

/** `number` is that of the grant. A negative amount was given back. */
export type GrantDraw = { number: number; category: GrantCategory; amount: string };

/** GET …/payments: how credit can be bought here. */
export type PaymentOptions = {
  /** Whether cards can be charged. Without it there are codes, and the operator. */
  is_online: boolean;
  /** Whether no real money moves. The credit can be spent all the same. */
  is_test: boolean;
  /** The least and the most of one payment. */
  least: string;
  most: string;
  /** Whom to ask for credit, as a mailto: or https: URL; null when the operator has not said. */
  contact: string | null;
  /** Null when there is none, and for members who are not owners. */
  card: SavedCard | null;
  automatic: AutomaticTopUp | null;
};
export type SavedCard = { brand: string | null; last4: string | null; expires: string | null };
/** Credit is added when less than `threshold` is available: `amount`, or as much as is missing to `target`. */
export type AutomaticTopUp = AutomaticTopUpDraft & {
  /** Added automatically in this month, in UTC. */
  month_added: string;
  /** Why the card is not charged, in the payment provider's word; null when it is. */
  paused_reason: string | null;
};
/** PUT-like: PATCH …/payments/automatic → PaymentOptions. Owners only. It also ends a pause. */
export type AutomaticTopUpDraft = {
  is_on: boolean;
  threshold: string;
  amount: string | null;
  target: string | null;
  monthly_cap: string;
};
/** GET …/payments/orders?limit&cursor → Page<Payment>, the newest first. */
export type Payment = {
  id: string;
  kind: 'checkout' | 'automatic';
  amount: string;
  state: 'new' | 'open' | 'processing' | 'paid' | 'failed' | 'expired' | 'contradicted';
  /** What was paid, with tax; null before. */
  paid: string | null;
  /** Also null for members who are not owners. */
  receipt_url: string | null;
  created_at: string;
  /** `amount` is what the customer gets back, with tax. `owed` is what could not be taken from the balance yet. */
  reversals: {
    id: string;
    kind: 'refund' | 'dispute';
    amount: string;
    status: string;
    taken: string;
    owed: string;
  }[];
};
/** POST …/payments/checkout → { url }: where to pay. Owners only. `saves_card` is for automatic top-ups. */
export type CheckoutDraft = { amount: string; saves_card: boolean };
/** POST …/payments/portal with an empty object → { url }: where to see invoices and to change the card. Owners only. */
export type PaymentPage = { url: string };
/** POST …/payments/orders/{id}/check with an empty object → Payment, as the payment provider has it now. */
/**
 * POST …/payments/card with an empty object → { url }: where to save a card without a payment. Owners only. POST
 * …/payments/card/check with an empty object → PaymentOptions, when someone comes back from there.
 */
/** DELETE …/payments/card → 204. Owners only. Automatic top-ups end with it. */
/** POST …/payments/redeem → RedeemedCode. Owners only. */
export type CodeRedemption = { code: string };
export type RedeemedCode = { amount: string };

/** GET …/members → { data: Member[] }, in the order in which they joined. */
export type Member = { id: string; email: string; name: string; role: Role; created_at: string };

/** PATCH …/members/{user} → Member. DELETE …/members/{user} → 204. Owners only, and the last owner stays one. */
export type MemberChange = { role: Role };

/** GET …/invitations → { data: Invitation[] }: those that can still be accepted, the newest first. Owners only. */
export type Invitation = {
  id: string;
  role: Role;
  /** The only address that can accept it, where it was mailed; null for a link that anyone can use. */
  email: string | null;
  /** The e-mail address of the owner who created it; null when the operator's own program did. */
  invited_by: string | null;
  created_at: string;
  expires_at: string;
};

/**
 * POST …/invitations → NewInvitation. Owners only. With an address the link is mailed there; that needs a gateway that can
 * send mail. An account has at most 50 at a time. DELETE …/invitations/{id} → 204 revokes one.
 */
export type InvitationDraft = { role: Role; email?: string | null };

/** `url` is the link, which is shown once; null when it was mailed. */
export type NewInvitation = { invitation: Invitation; url: string | null };

export type ChangeAction =
  | 'create_account'
  | 'update_account'
  | 'credit_account'
  | 'correct_account'
  | 'refund_generation'
  | 'void_grant'
  | 'create_allowance'
  | 'end_allowance'
  | 'suspend_account'
  | 'resume_account'
  | 'create_key'
  | 'update_key'
  | 'replace_key'
  | 'revoke_key'
  | 'create_limit'
  | 'update_limit'
  | 'remove_limit'
  | 'create_webhook'
  | 'update_webhook'
  | 'remove_webhook'
  | 'rotate_webhook_secret'
  | 'create_user'
  | 'sign_up'
  | 'verify_email'
  | 'get_welcome_grant'
  | 'make_reset_link'
  | 'change_password'
  | 'sign_user_out'
  | 'make_operator'
  | 'unmake_operator'
  | 'add_member'
  | 'update_member'
  | 'remove_member'
  | 'create_invitation'
  | 'revoke_invitation'
  | 'accept_invitation'
  | 'create_token'
  | 'revoke_token'
  | 'retry_settlements'
  | 'repair_ledger'
  | 'reconcile_bill'
  | 'create_codes'
  | 'void_codes'
  | 'redeem_code'
  | 'update_top_up'
  | 'remove_card'
  | 'refund_payment';

/** The name is null for what no longer exists, and for what has none. */
export type ChangedObject = {
  type:
    | 'account'
    | 'key'
    | 'limit'
    | 'webhook'
    | 'user'
    | 'invitation'
    | 'token'
    | 'provider'
    | 'codes'
    | 'payment'
    | 'allowance';
  id: string;
  name: string | null;
};

/**
 * GET …/audit-log?key&limit&cursor → Page<AccountChange>: what was changed in the account, or about one of its keys, the newest
 * first. Owners only.
 */
export type AccountChange = {
  id: string;
  at: string;
  /** The e-mail address of a user; null for the operator of the gateway. */
  actor: string | null;
  /** Where the request came from; null for the operator of the gateway. */
  address: string | null;
  action: ChangeAction;
  object: ChangedObject | null;
  /** The fields that changed, as they were; null for what is new. Without those that only the operator sees. */
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
};
export type AccountAuditLog = Page<AccountChange>;

/**
 * GET …/exports/generations, …/usage, …/entries and …/audit_log with from&to&format&after: a file of everything from one time up to
 * another, as a stream. Owners only. GET …/operator/exports/… is the same for operators, of all accounts or with &account of one.
 */
export type ExportName = 'generations' | 'usage' | 'entries' | 'audit_log';
export type ExportFormat = 'csv' | 'ndjson';

/**
 * POST …/playground/chat and …/playground/images, where `request` is a body of POST /v1/chat/completions or
 * /v1/images/generations. They respond exactly like those endpoints, and are charged to the key like any other request.
 */
export type PlaygroundRequest = { key_id: string; request: Record<string, unknown> };

/**
 * A value of this contract before `JSON.stringify`: times may still be dates, as the database returns them, because JSON
 * writes them as ISO 8601 in UTC.
 */
export type Unsent<Value> = Value extends readonly (infer Item)[]
  ? Unsent<Item>[]
  : Value extends object
    ? { [Name in keyof Value]: Name extends 'at' | `${string}_at` ? Value[Name] | Date : Unsent<Value[Name]> }
    : Value;
