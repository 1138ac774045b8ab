/**
 * The accounts and meters as this process last read or wrote them, so that a batch can be decided without asking for them
 * first. Others may have changed them since: a batch names the versions that it relies on, and the database checks them.
 */
import { type Money, moneyFromDatabase } from '../lib/money.ts';
import { RecentMap } from '../lib/recent-map.ts';
import type { AccountState, Ended, MeterState } from './decide.ts';
import type { SettlementResult } from './operations.ts';

export type KnownAccount = Readonly<{ version: bigint; state: AccountState }>;

export type KnownMeter = Readonly<{
  version: bigint;
  state: MeterState;
  /** The month that `state.monthSpent` was spent in. */
  month: string;
  revokedAtMs: number | null;
  expiresAtMs: number | null;
}>;

/** About 20 MB. */
export const maxRows = 20_000;

export class KnownRows {
  readonly accounts = new RecentMap<KnownAccount>(maxRows);
  readonly meters = new RecentMap<KnownMeter>(maxRows);
}

/** What a batch is decided on, updated as its operations are applied. */
export type BatchRows = Readonly<{
  accounts: Map<string, KnownAccount>;
  meters: Map<string, KnownMeter>;
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
    meters: new Map(),
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

/** What `ledger_read` returns. Big integers and amounts are strings. */
export type ReadRows = Readonly<{
  accounts: readonly AccountRow[] | null;
  meters: readonly MeterRow[] | null;
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
type MeterRow = AsJson<Omit<MeterState, 'isRevoked' | 'isExpired'>> &
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

export function knownMeter(row: MeterRow): KnownMeter {
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

/** The meter at a time: a new month starts with nothing spent, and a key may have expired. */
export function meterAt(meter: KnownMeter, nowMs: number, month: string): KnownMeter {
  const isRevoked = isPast(meter.revokedAtMs, nowMs);
  const isExpired = isPast(meter.expiresAtMs, nowMs);
  const { state } = meter;
  if (meter.month === month && state.isRevoked === isRevoked && state.isExpired === isExpired) return meter;
  const monthSpent = meter.month === month ? state.monthSpent : 0n;
  return { ...meter, month, state: { ...state, monthSpent, isRevoked, isExpired } };
}

function isPast(timeMs: number | null, nowMs: number): boolean {
  return timeMs !== null && timeMs <= nowMs;
}
