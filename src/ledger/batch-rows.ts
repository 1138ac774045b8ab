/** The rows that a batch is decided on, what it needs of them, and how the database writes them. */
import { type Money, moneyFromDatabase } from '../lib/money.ts';
import type { AccountState, Ended, KeyState } from './decide.ts';
import type { LimitState } from './decide-limits.ts';
import type { LimitMeter } from './operations.ts';

/** `state` is updated as the operations of the batch are applied. */
export type BatchRow<State> = Readonly<{ before: State; state: State }>;

export type BatchRows = Readonly<{
  accounts: Map<string, BatchRow<AccountState>>;
  keys: Map<string, BatchRow<KeyState>>;
  /** By their meters, without those that have been removed. */
  limits: Map<string, BatchRow<LimitState>>;
  /** The holds of open Generations. */
  openHolds: Map<string, Money>;
  /** How Generations ended that this batch is to settle, but that are no longer open. */
  ended: Map<string, Ended>;
  nowMs: number;
}>;

export function emptyRows(nowMs: number): BatchRows {
  return {
    accounts: new Map(),
    keys: new Map(),
    limits: new Map(),
    openHolds: new Map(),
    ended: new Map(),
    nowMs,
  };
}

export function unchanged<State>(state: State): BatchRow<State> {
  return { before: state, state };
}

/** `isAdmitting`: a hold or a count is among the operations, so the account and the key must be in force. */
type Admission = Readonly<{ isAdmitting: boolean }>;
/** What must be free of the balance before the batch; null if that does not matter. */
type AccountNeeds = Admission & Readonly<{ free: Money | null }>;
/** What must be left of the month, and how many more Generations may have to be open at once. */
type KeyNeeds = Admission & Readonly<{ left: Money | null; open: number }>;
export type Needs = Readonly<{
  accounts: ReadonlyMap<string, AccountNeeds>;
  keys: ReadonlyMap<string, KeyNeeds>;
  /** What must be left of limits, by their meters. */
  limits: ReadonlyMap<string, Money>;
  /** Which versions of their limits the accounts must have. */
  limitVersions: ReadonlyMap<string, number>;
}>;

type AsJson<State> = {
  [Name in keyof State]: State[Name] extends bigint
    ? string
    : bigint extends State[Name]
      ? string | null
      : State[Name];
};

/** Amounts and big integers are strings. */
type AccountJson = AsJson<Required<AccountState>> & Readonly<{ id: string }>;
type KeyJson = AsJson<KeyState> & Readonly<{ keyId: string }>;

/** What `ledger_lock_rows` returns. `locked` are the IDs of rows that others have locked. */
export type LockedRows = Readonly<{
  accounts: readonly AccountJson[] | null;
  keys: readonly KeyJson[] | null;
  open: readonly Readonly<{ id: string; hold: string }>[] | null;
  locked: readonly string[] | null;
  nowMs: number;
}>;

/** What is left for a key after its requests were admitted. Amounts are as the database formats them. */
export type AdmittedKey = Readonly<{
  keyId: string;
  accountId: string;
  /** Of the account's balance. */
  free: string;
  /** Of the key's month; null if that is not limited. */
  left: string | null;
}> &
  Pick<KeyState, 'theoreticalArrivalMs' | 'requestsPerMinute' | 'openCount' | 'maxConcurrent'>;

type AdmittedLimits = ReadonlyMap<string, Pick<LimitState, 'amount' | 'used'>>;

export type Admitted = Readonly<{
  keys: readonly AdmittedKey[];
  /** Limits that the batch counted towards, by their meters. */
  limits: AdmittedLimits;
  nowMs: number;
}>;

/** What `ledger_write_batch` returns; null if nothing was admitted. */
export type WrittenJson = Readonly<{ admitted: string; limited?: string | null; nowMs: number }> | null;

const noLimits: AdmittedLimits = new Map();

export function admittedFrom(written: WrittenJson): Admitted | null {
  if (written === null) return null;
  const { admitted, limited, nowMs } = written;
  const limits = limited ? new Map(limited.split(',').map(limitState)) : noLimits;
  return { keys: admitted.split(',').map(admittedKey), limits, nowMs };
}

function limitState(fields: string): [string, Pick<LimitState, 'amount' | 'used'>] {
  const [id = '', amount = '', used = ''] = fields.split(' ');
  return [id, { amount: moneyFromDatabase(amount), used: moneyFromDatabase(used) }];
}

function admittedKey(fields: string): AdmittedKey {
  const [keyId = '', accountId = '', free = '', arrivalMs, perMinute, open, maxOpen, left = null] =
    fields.split(' ');
  return {
    keyId,
    accountId,
    free,
    theoreticalArrivalMs: Number(arrivalMs),
    requestsPerMinute: Number(perMinute),
    openCount: Number(open),
    maxConcurrent: Number(maxOpen),
    left,
  };
}

export function rowsFrom({ accounts, keys, open, nowMs }: LockedRows): BatchRows {
  const rows = emptyRows(nowMs);
  for (const row of accounts ?? []) rows.accounts.set(row.id, unchanged(accountState(row)));
  for (const row of keys ?? []) rows.keys.set(row.keyId, unchanged(keyState(row)));
  for (const { id, hold } of open ?? []) rows.openHolds.set(id, moneyFromDatabase(hold));
  return rows;
}

/** What `ledger_read_limits` returns. */
export type LimitRow = Readonly<{ id: string; amount: string; used: string; held: string }>;

export function addLimits(
  { limits }: BatchRows,
  meters: ReadonlyMap<string, LimitMeter>,
  rows: readonly LimitRow[],
): void {
  for (const { id, amount, used, held } of rows) {
    const meter = meters.get(id);
    if (meter === undefined) continue;
    const amounts = {
      amount: moneyFromDatabase(amount),
      used: moneyFromDatabase(used),
      held: moneyFromDatabase(held),
    };
    limits.set(id, unchanged({ meter, ...amounts }));
  }
}

function accountState({ balance, held, entryCount, isSuspended, limitVersion }: AccountJson): AccountState {
  return {
    limitVersion,
    balance: moneyFromDatabase(balance),
    held: moneyFromDatabase(held),
    entryCount: BigInt(entryCount),
    isSuspended,
  };
}

function keyState(row: KeyJson): KeyState {
  return {
    held: moneyFromDatabase(row.held),
    monthSpent: moneyFromDatabase(row.monthSpent),
    monthlyLimit: row.monthlyLimit === null ? null : moneyFromDatabase(row.monthlyLimit),
    requestsPerMinute: row.requestsPerMinute,
    maxConcurrent: row.maxConcurrent,
    openCount: row.openCount,
    theoreticalArrivalMs: row.theoreticalArrivalMs,
    isRevoked: row.isRevoked,
    isExpired: row.isExpired,
  };
}
