/** The operations of the ledger and their results. A release is a settlement without a cost. */
import type { ErrorCode } from '../errors.ts';
import type { Tag } from '../lib/labels.ts';
import type { CachedTokens } from '../lib/meters.ts';
import type { Money } from '../lib/money.ts';
import type { RateLimit } from '../lib/rate-limit.ts';

/** A call to a provider. */
export type Attempt = Readonly<{
  index: number;
  provider: string;
  status: 'in_progress' | 'succeeded' | 'failed' | 'cancelled';
  startedAtMs: number;
  completedAtMs: number | null;
  upstreamStatus: number | null;
  errorCode: ErrorCode | null;
  /** What the provider may bill for this call if no customer is charged for it; null if it cannot bill it. */
  uncharged: ProviderUsage | null;
}>;

/**
 * What a provider reported of a call, and what it asks for that. `usage` is null if it reported none, `cost` if that is unknown.
 */
export type ProviderUsage = Readonly<{
  usage: Readonly<{ inputTokens: number; outputTokens: number; cached: CachedTokens | null }> | null;
  cost: Money | null;
}>;

/**
 * Whom a request was for, as the client says: in its own words, which are personal data. Null, or no tags, where it says
 * nothing. It is stored next to the ledger, and nothing in the ledger depends on it.
 */
export type Attribution = Readonly<{
  endUser: string | null;
  session: string | null;
  tags: readonly Tag[];
}>;

/** What a limit is about, besides those that a key has itself. All but concurrent requests are for a window of time. */
export const limitKinds = [
  'spend_per_day',
  'spend_per_week',
  'spend_per_month',
  'requests_per_minute',
  'tokens_per_minute',
  'concurrent_requests',
] as const;

export type LimitKind = (typeof limitKinds)[number];

export type LimitScope = 'account' | 'key' | 'end_user' | 'each_end_user';

/** Where a request counts towards a limit. Each end user has a meter of his own. */
export type LimitMeter = Readonly<{
  id: string;
  limitId: string;
  kind: LimitKind;
  scope: LimitScope;
  /** Only where the limit is for each of them. */
  endUser: string | null;
}>;

/** The limits that a request counts towards, as of a version of its account's limits. */
export type AppliedLimits = Readonly<{ version: number; meters: readonly LimitMeter[] }>;

/** What stays the same from admission to settlement. */
export type GenerationFacts = Readonly<{
  id: string;
  accountId: string;
  keyId: string;
  workload: string;
  /** Which endpoint was called. Left out where that was not recorded. */
  api?: string | null | undefined;
  model: string;
  streaming: boolean;
  priceListId: number;
  /** The hash of the idempotency key, if there is one: only the holder of its claim is admitted, or charged late. */
  idempotencyHash: string | null;
  createdAtMs: number;
  /** Left out where nothing is known. */
  attribution?: Attribution | null | undefined;
  /** Left out if its account has never had a limit. */
  limits?: AppliedLimits | null | undefined;
}>;

export type Hold = Readonly<{
  kind: 'hold';
  generation: GenerationFacts;
  nodeId: string;
  provider: string;
  /** The hold lies between these two: a request that cannot hold `min` is denied. */
  min: Money;
  max: Money;
  /** How many tokens it may use at least and at most. Left out for what is not counted in tokens. */
  tokens?: TokenRange | undefined;
  attempts: readonly Attempt[];
  /** Its call is under way already, so nobody waits for it yet. */
  isPatient?: boolean;
}>;

export type TokenRange = Readonly<{ min: number; max: number }>;

/** Counts a request towards the rate of its key, without a hold. */
export type Count = Readonly<{
  kind: 'count';
  /** Of the limits, only the version matters. */
  generation: Pick<GenerationFacts, 'id' | 'accountId' | 'keyId' | 'limits'>;
}>;

export type BilledUsage = Readonly<{
  /** All input, cached or not. */
  inputTokens: number;
  outputTokens: number;
  /** Null when no cache was involved. */
  cached: CachedTokens | null;
  units: number;
  unit: 'tokens' | 'images';
  /** The rate that applied, where a price has several by size. */
  tier: string | null;
}>;

/** Why the operator may have lost money on a Generation, or has something to settle with a provider. */
export type Loss = Readonly<{
  reason: 'usage_missing' | 'interrupted' | 'implausible_usage';
  /** Null when it is unknown. */
  amount: Money | null;
  /** What the provider reported, when it was implausible. */
  reported: Readonly<{ inputTokens: number; outputTokens: number }> | null;
  /** The same by the provider's own names, when its counts contradict each other. */
  counts: Readonly<Record<string, number | null>> | null;
}>;

/** The response that retries of an idempotent request get: encrypted, in base64, or staged in the database beforehand. */
export type StoredResponse = Readonly<{
  idempotencyHash: string;
  response: string | 'staged';
  /** The response if the balance did not cover the cost; null when none was sent. */
  insufficientBalanceResponse: string | 'staged' | null;
}>;

/** `cached` has parts of the input's cost, and how much less all input cost than without caches. */
export type BilledCost = Readonly<{
  input: Money;
  output: Money;
  total: Money;
  cached: Readonly<{ read: Money; write: Money; writeLong: Money; saved: Money }> | null;
}>;

export type Settlement = Readonly<{
  kind: 'settle';
  generation: GenerationFacts;
  /** The hold was confirmed. Should the database lose it in a crash, the Generation is recorded and charged all the same. */
  isHeld: boolean;
  provider: string;
  status: 'completed' | 'failed' | 'cancelled';
  errorCode: ErrorCode | null;
  /** Null when the provider reported none. Then nothing is charged. */
  usage: BilledUsage | null;
  cost: BilledCost | null;
  /** What the provider asks of the operator; null when that is unknown. */
  providerCost: Money | null;
  /** The gateway ended the call itself, and the usage is its own conservative estimate. */
  isEstimated: boolean;
  /** A result that has not been delivered is withheld when the balance does not cover it; a delivered one is written off. */
  onInsufficientBalance: 'withhold' | 'write_off';
  /**
   * What to do with a charge that was committed before without this process knowing. It is refunded when the response was
   * withheld, unless the response was stored together with the charge for the retries of an idempotent request.
   */
  onAlreadyCharged: 'stands' | 'refund' | 'refund_unless_stored';
  loss: Loss | null;
  attempts: readonly Attempt[];
  /** The part of its tokens that it did not use. Left out if none were counted. */
  unusedTokens?: Readonly<{ count: number; countedAtMs: number }> | null | undefined;
  /** Why the answer ended, as the provider reported it. Left out if it did not. */
  finishReason?: string | null | undefined;
  /** Stored in the same transaction as the charge. */
  stored: StoredResponse | null;
  completedAtMs: number;
  latencyMs: number;
  timeToFirstTokenMs: number | null;
}>;

/** Closes a Generation whose settlement the database will never accept, and stores that settlement as a dead letter. */
export type SetAside = Readonly<{
  kind: 'set_aside';
  generation: GenerationFacts;
  settlement: Settlement;
  error: DatabaseErrorSummary;
}>;

/** PostgreSQL's code, and the constraint, column or table that the error is about. */
export type DatabaseErrorSummary = Readonly<{ code: string; about: string }>;

export type Operation = Hold | Count | Settlement | SetAside;

/** The meters of the limits that an operation counts towards. */
export function metersOf(operation: Operation): readonly LimitMeter[] {
  return (operation.kind !== 'count' && operation.generation.limits?.meters) || noMeters;
}

const noMeters: readonly LimitMeter[] = [];

export type DenialCode =
  | 'invalid_api_key'
  | 'expired_api_key'
  | 'rate_limit_exceeded'
  | 'monthly_spend_limit_exceeded'
  | 'spend_limit_exceeded'
  | 'limits_changed'
  | 'insufficient_balance';

/** `available` is what was left of the balance or of the month, whichever was short; `spendable` is the lower of the two. */
export type Shortage = Readonly<{ needed: Money; available: Money; spendable: Money }>;

/** A limit that leaves too little. Amounts are in USD, requests or tokens, and `needed` is what the request needs at least. */
export type ExceededLimit = Readonly<{
  kind: LimitKind;
  scope: LimitScope;
  amount: Money;
  left: Money;
  needed: Money;
  /** When its next window begins; null if it has none. */
  freesAtMs: number | null;
}>;

export type Denial = Readonly<{
  outcome: 'denied';
  code: DenialCode;
  rate: RateLimit | null;
  retryAfterMs: number | null;
  shortage: Shortage | null;
  /** The limit on concurrent requests, when that was reached and not the rate. */
  concurrencyLimit: number | null;
  /** The limit, when it is none of the key's own. */
  limit: ExceededLimit | null;
}>;

/** How many tokens a request may use, when that was counted, and the state of the strictest limit. */
export type GrantedTokens = Readonly<{ count: number; countedAtMs: number; rate: RateLimit }>;

export type Held = Readonly<{
  outcome: 'held';
  amount: Money;
  rate: RateLimit;
  /** Left out if no limit counts them. */
  tokens?: GrantedTokens | null;
}>;

export type HoldResult = Held | Denial;

export type CountResult = Readonly<{ outcome: 'counted'; rate: RateLimit }> | Denial;

/**
 * `short`: the balance did not cover the cost. `interrupted`: another node has closed this Generation, and it
 * stays closed. `set_aside`: the database will never accept it.
 */
export type SettlementResult = 'settled' | 'short' | 'interrupted' | 'set_aside';

export type OperationResult = HoldResult | CountResult | SettlementResult;

/** Unless `isDurable`, a crash of the database may still undo it. `server` is where it was committed. */
export type Committed<Result = OperationResult> = Readonly<{
  result: Result;
  isDurable: boolean;
  server: string;
}>;

export type Outcome = Committed | Error;
