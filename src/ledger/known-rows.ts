/**
 * The accounts and keys as this process last read or wrote them, so that a batch can be decided without asking for them
 * first. Others may have changed them since: a batch names the versions that it relies on, and the database checks them.
 */
import { type Money, moneyFromDatabase } from '../lib/money.ts';
import { RecentMap } from '../lib/recent-map.ts';
import type { AccountState, Ended, KeyState } from './decide.ts';
import type { SettlementResult } from './operations.ts';

export type KnownAccount = Readonly<{ version: bigint; state: AccountState }>;

export type KnownKey = Readonly<{
  version: bigint;
  state: KeyState;
  /** The month that `state.monthSpent` was spent in. */
  month: string;
  revokedAtMs: number | null;
  expiresAtMs: number | null;
}>;

/** About 20 MB. */
export const maxRows = 20_000;

export class KnownRows {
  readonly accounts = new RecentMap<KnownAccount>(maxRows);
  readonly keys = new RecentMap<KnownKey>(maxRows);
}

/** What a batch is decided on, updated as its operations are applied. */
export type BatchRows = Readonly<{
  accounts: Map<string, KnownAccount>;
  keys: Map<string, KnownKey>;
  /** The holds of open Generations. */
  openHolds: Map<string, Money>;
  /** How Generations ended that this batch is to settle, but that are no longer open. */
  ended: Map<string, Ended>;
  /** What this batch has settled so far. */
  settled: Map<string, SettlementResult>;
  nowMs: number;
  month: string;
}>;

export function rowsAt(nowMs: number): BatchRows {
  return {
    accounts: new Map(),
    keys: new Map(),
    openHolds: new Map(),
    ended: new Map(),
    settled: new Map(),
    nowMs,
    month: monthOf(nowMs),
  };
}

/** Its first day, as the database writes it. */
function monthOf(timeMs: number): string {
  return `${new Date(timeMs).toISOString().slice(0, 7)}-01`;
}

/** What `ledger_read` returns, where `meters` are the keys. Big integers and amounts are strings. */
export type ReadRows = Readonly<{
  accounts: readonly AccountRow[] | null;
  meters: readonly KeyRow[] | null;
  open: readonly Readonly<{ id: string; hold: string }>[] | null;
  nowMs: number;
}>;

type AsJson<State> = {
  [Name in keyof State]: State[Name] extends bigint
    ? string
    : bigint extends State[Name]
      ? string | null
      : State[Name];
};
type AccountRow = AsJson<AccountState> & Readonly<{ id: string; version: string }>;
type KeyRow = AsJson<Omit<KeyState, 'isRevoked' | 'isExpired'>> &
  Readonly<{
    keyId: string;
    version: string;
    month: string;
    revokedAtMs: number | null;
    expiresAtMs: number | null;
  }>;

export function knownAccount({ version, balance, held, entryCount, isSuspended }: AccountRow): KnownAccount {
  return {
    version: BigInt(version),
    state: {
      balance: moneyFromDatabase(balance),
      held: moneyFromDatabase(held),
      entryCount: BigInt(entryCount),
      isSuspended,
    },
  };
}

export function knownKey(row: KeyRow): KnownKey {
  const { version, month, revokedAtMs, expiresAtMs } = row;
  return {
    version: BigInt(version),
    month,
    revokedAtMs,
    expiresAtMs,
    state: {
      held: moneyFromDatabase(row.held),
      monthSpent: moneyFromDatabase(row.monthSpent),
      monthlyLimit: optionalMoney(row.monthlyLimit),
      requestsPerMinute: row.requestsPerMinute,
      maxConcurrent: row.maxConcurrent,
      openCount: row.openCount,
      theoreticalArrivalMs: row.theoreticalArrivalMs,
      isRevoked: false,
      isExpired: false,
    },
  };
}

function optionalMoney(text: string | null): Money | null {
  return text === null ? null : moneyFromDatabase(text);
}

/** The key at a time: a new month starts with nothing spent, and a key may have expired. */
export function keyAt(key: KnownKey, nowMs: number, month: string): KnownKey {
  const isRevoked = isPast(key.revokedAtMs, nowMs);
  const isExpired = isPast(key.expiresAtMs, nowMs);
  const { state } = key;
  if (key.month === month && state.isRevoked === isRevoked && state.isExpired === isExpired) return key;
  const monthSpent = key.month === month ? state.monthSpent : 0n;
  return { ...key, month, state: { ...state, monthSpent, isRevoked, isExpired } };
}

function isPast(timeMs: number | null, nowMs: number): boolean {
  return timeMs !== null && timeMs <= nowMs;
}
