/** What needs attention before it stops requests, the most urgent first. */
import { formatMoney, type Money, moneyScaleDigits } from '../lib/money.ts';
import type { NodeReport } from '../routing/node-report.ts';
import type { Attention } from './contract.ts';

/** More of the same kind would hide what matters. */
const maxOfAKind = 20;
export const nearLimitPercent = 80;
export const expiryDays = 7;
/** A balance is low when it lasts for less than this, because it takes people a few days to add credit, */
const shortlyMs = 3 * 24 * 3_600_000;
/** or is less than one dollar, which a single request can cost. */
const littleMoney = 10n ** BigInt(moneyScaleDigits);

export type AccountState = Readonly<{ balance: Money; held: Money; isSuspended: boolean }>;

/** A key that is in force, or was until it expired. */
export type WatchedKey = Readonly<{
  id: string;
  name: string;
  /** This month's spending plus what is held for open requests: the limit is compared with this sum. */
  spent: Money;
  monthlyLimit: Money | null;
  /** What its requests usually hold; null if that is not known, or there is no limit. */
  typicalHold: Money | null;
  expiresAt: Date | null;
  isExpired: boolean;
  /** It ends soon because its owner replaced it. */
  isReplaced: boolean;
}>;

export type ReportedCircuit = NodeReport['circuits'][number];

export type Facts = Readonly<{
  nowMs: number;
  account: AccountState;
  runsOutAt: string | null;
  /** What its requests usually hold; null when that is not known. */
  typicalHold: Money | null;
  keys: readonly WatchedKey[];
  circuits: readonly ReportedCircuit[];
  /** Those that the account has called recently; problems with others do not concern it. */
  models: ReadonlySet<string>;
  /** The name that customers see. */
  providerName: (id: string) => string;
  /** When a call of the account to a provider, by that name, last succeeded for a model, on any node. */
  lastSuccess: (model: string, provider: string) => Date | null;
}>;

export function attentionTo(facts: Facts): Attention[] {
  const { account, keys } = facts;
  return [
    ...(account.isSuspended ? [{ kind: 'account_suspended' } as const] : []),
    ...balanceAttention(facts),
    ...keys.flatMap((key) => limitAttention(key, 'key_at_limit')).slice(0, maxOfAKind),
    ...keys.flatMap(blockedAttention).slice(0, maxOfAKind),
    ...keys.flatMap((key) => limitAttention(key, 'key_near_limit')).slice(0, maxOfAKind),
    ...keys.flatMap((key) => expiryAttention(key, 'key_expired')).slice(0, maxOfAKind),
    ...keys.flatMap((key) => expiryAttention(key, 'key_expiring')).slice(0, maxOfAKind),
    ...circuitAttention(facts).slice(0, maxOfAKind),
  ];
}

/** What is held for open requests cannot be spent on others. */
function balanceAttention({ account, runsOutAt, typicalHold, nowMs }: Facts): Attention[] {
  const available = account.balance - account.held;
  const balance = formatMoney(available);
  if (available <= 0n) return [{ kind: 'balance_empty', balance, runs_out_at: runsOutAt }];
  // However long it would last for smaller requests.
  if (typicalHold !== null && available < typicalHold)
    return [{ kind: 'balance_blocked', balance, typical_hold: formatMoney(typicalHold) }];
  const isLow = available < littleMoney || (runsOutAt !== null && Date.parse(runsOutAt) < nowMs + shortlyMs);
  return isLow ? [{ kind: 'balance_low', balance, runs_out_at: runsOutAt }] : [];
}

function limitAttention(key: WatchedKey, kind: 'key_at_limit' | 'key_near_limit'): Attention[] {
  const { id, name, spent, monthlyLimit, isExpired } = key;
  if (monthlyLimit === null || isExpired) return [];
  const isNear = spent * 100n >= monthlyLimit * BigInt(nearLimitPercent);
  const actual = spent >= monthlyLimit ? 'key_at_limit' : 'key_near_limit';
  if (!isNear || actual !== kind || leftOfBlocked(key) !== null) return [];
  return [{ kind, key_id: id, name, spent: formatMoney(spent), limit: formatMoney(monthlyLimit) }];
}

/** However little of it is used, a limit rejects what does not fit into the rest. */
function blockedAttention(key: WatchedKey): Attention[] {
  const { id, name, typicalHold } = key;
  const left = leftOfBlocked(key);
  if (left === null || typicalHold === null) return [];
  return [
    {
      kind: 'key_blocked',
      key_id: id,
      name,
      left: formatMoney(left),
      typical_hold: formatMoney(typicalHold),
    },
  ];
}

/** What is left of the limit, if it is something, but less than a request holds. */
function leftOfBlocked({ spent, monthlyLimit, typicalHold, isExpired }: WatchedKey): Money | null {
  if (monthlyLimit === null || typicalHold === null || isExpired) return null;
  const left = monthlyLimit - spent;
  return left > 0n && left < typicalHold ? left : null;
}

/** The owner who replaced a key knows that it ends. */
function expiryAttention(key: WatchedKey, kind: 'key_expired' | 'key_expiring'): Attention[] {
  const { id, name, expiresAt, isExpired, isReplaced } = key;
  if (expiresAt === null || isReplaced || isExpired !== (kind === 'key_expired')) return [];
  return [{ kind, key_id: id, name, expires_at: expiresAt.toISOString() }];
}

/**
 * Each circuit once, though several nodes may report it, with the time at which the last of them will try again. One that
 * is half open has let nothing through yet that worked, so it stays until a call has.
 */
function circuitAttention(facts: Facts): Attention[] {
  const { circuits, models, providerName } = facts;
  const open = new Map<string, ReportedCircuit>();
  for (const circuit of circuits) {
    if (circuit.state === 'closed' || !models.has(circuit.model) || isProvenElsewhere(circuit, facts))
      continue;
    const name = JSON.stringify([circuit.model, circuit.provider]);
    const known = open.get(name);
    if (known === undefined || (known.until ?? '') < (circuit.until ?? '')) open.set(name, circuit);
  }
  return [...open.values()]
    .toSorted((a, b) => (a.model < b.model ? -1 : 1))
    .map(({ model, provider, until }) => ({
      kind: 'model_unavailable',
      model,
      provider: providerName(provider),
      until,
    }));
}

type DoubtfulCircuit = ReportedCircuit & Readonly<{ failing_since: string }>;

/** Whether it takes a call on another node to tell that a provider works again. */
export function isInDoubt(circuit: ReportedCircuit): circuit is DoubtfulCircuit {
  return circuit.state === 'half_open' && circuit.failing_since !== null;
}

/** A node that nobody asks keeps its circuit half open, also when the account is served by others since. */
function isProvenElsewhere(circuit: ReportedCircuit, { providerName, lastSuccess }: Facts): boolean {
  if (!isInDoubt(circuit)) return false;
  const successAt = lastSuccess(circuit.model, providerName(circuit.provider));
  return successAt !== null && successAt > new Date(circuit.failing_since);
}
