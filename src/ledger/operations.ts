/** What can be asked of the ledger, and what it answers. A release is a settlement without a cost. */
import type { ErrorCode, RateLimit } from '../errors.ts';
import type { Money } from '../lib/money.ts';

/** A call to a provider. It is in progress until it has a time of completion. */
export type Attempt = Readonly<{
  index: number;
  provider: string;
  status: 'in_progress' | 'succeeded' | 'failed' | 'cancelled';
  startedAtMs: number;
  completedAtMs: number | null;
  upstreamStatus: number | null;
  errorCode: ErrorCode | null;
}>;

/** What stays the same from admission to settlement. */
export type GenerationFacts = Readonly<{
  id: string;
  accountId: string;
  keyId: string;
  workload: string;
  model: string;
  streaming: boolean;
  priceListId: number;
  createdAtMs: number;
}>;

export type Hold = Readonly<{
  kind: 'hold';
  generation: GenerationFacts;
  /** The name of the request, hashed, when it has one: only whoever has its claim is admitted. */
  claimedName: string | null;
  nodeId: string;
  provider: string;
  amount: Money;
  attempts: readonly Attempt[];
}>;

export type BilledUsage = Readonly<{
  inputTokens: number;
  outputTokens: number;
  units: number;
  unit: 'tokens' | 'images';
  /** The rate that applied, where a price has several by size. */
  tier: string | null;
}>;

/** An answer that is kept for retries of a named request: sealed, in base64, or staged in the database before. */
export type KeptAnswer = Readonly<{
  name: string;
  whole: string | 'staged';
  /** What was answered if the balance did not cover the cost; null when nothing was. */
  whenShort: string | 'staged' | null;
}>;

export type BilledCost = Readonly<{ input: Money; output: Money; total: Money }>;

export type Settlement = Readonly<{
  kind: 'settle';
  generation: GenerationFacts;
  provider: string;
  status: 'completed' | 'failed' | 'cancelled';
  errorCode: ErrorCode | null;
  /** Null when the provider reported none; then nothing is charged. */
  usage: BilledUsage | null;
  cost: BilledCost | null;
  /** A result that has not been delivered is withheld when the balance does not cover it; a delivered one is written off. */
  whenShort: 'withhold' | 'write_off';
  /** Why the operator may have lost money, when there is no usage to charge. */
  loss: 'usage_missing' | 'interrupted' | null;
  attempts: readonly Attempt[];
  /** Kept in the same transaction as the charge. */
  kept: KeptAnswer | null;
  completedAtMs: number;
  latencyMs: number;
  timeToFirstTokenMs: number | null;
}>;

export type Operation = Hold | Settlement;

export type HoldRefusal =
  | 'invalid_api_key'
  | 'expired_api_key'
  | 'rate_limit_exceeded'
  | 'monthly_spend_limit_exceeded'
  | 'insufficient_balance';

export type HoldResult =
  | Readonly<{ outcome: 'held'; rate: RateLimit }>
  | Readonly<{ outcome: 'refused'; code: HoldRefusal; rate: RateLimit | null; retryAfterMs: number | null }>;

/** `short`: the balance did not cover the cost. `interrupted`: another node had given this Generation up before. */
export type SettlementResult = 'settled' | 'short' | 'interrupted';
