/**
 * Decides a batch as if there were plenty of everything, and says what has to be there for that to be right. The database
 * writes the batch only if it is there, so most batches need no row to be read first.
 */
import type { Money } from '../lib/money.ts';
import { rateAt } from '../lib/rate-limit.ts';
import { minuteMs } from '../lib/time-units.ts';
import { decideBatch } from './batch.ts';
import { type Admitted, type BatchRows, emptyRows, type Needs, unchanged } from './batch-rows.ts';
import { type AccountState, holdDivisor, type KeyState } from './decide.ts';
import { countUnit, isSpend, tokenRate } from './decide-limits.ts';
import type { Effects } from './effects.ts';
import {
  type GrantedTokens,
  type Hold,
  type LimitKind,
  metersOf,
  type Operation,
  type OperationResult,
} from './operations.ts';

/** The results are right if the needs are met. Those of holds and counts lack their rates: see `withRates`. */
export type Expected = Readonly<{
  results: OperationResult[];
  effects: Effects;
  rows: BatchRows;
  needs: Needs;
}>;

/** More than any balance. */
const plenty = 1n << 127n;
const plentifulAccount: AccountState = { balance: plenty, held: 0n, entryCount: 0n, isSuspended: false };
const plentifulKey: KeyState = {
  held: 0n,
  monthSpent: 0n,
  monthlyLimit: null,
  requestsPerMinute: Number.POSITIVE_INFINITY,
  maxConcurrent: Number.POSITIVE_INFINITY,
  openCount: 1_000_000,
  theoreticalArrivalMs: 0,
  isRevoked: false,
  isExpired: false,
};

/**
 * Whether an operation can be decided without its rows. `holds` are those that this process has made; a settlement of
 * another one's Generation depends on how that ended.
 */
export function isForeseeable(operation: Operation, holds: ReadonlyMap<string, Money>): boolean {
  return operation.kind === 'settle' ? holds.has(operation.generation.id) : operation.kind !== 'set_aside';
}

export function decideWithPlenty(batch: readonly Operation[], holds: ReadonlyMap<string, Money>): Expected {
  const rows = emptyRows(0);
  for (const { kind, generation } of batch) {
    const { id, accountId, keyId } = generation;
    rows.accounts.set(accountId, unchanged(plentifulAccount));
    rows.keys.set(keyId, unchanged(plentifulKey));
    const hold = kind === 'settle' ? holds.get(id) : undefined;
    if (hold !== undefined) rows.openHolds.set(id, hold);
  }
  for (const operation of batch)
    for (const meter of metersOf(operation))
      rows.limits.set(meter.id, unchanged({ meter, amount: plenty, used: 0n, held: 0n }));
  return { ...decideBatch(batch, rows), rows, needs: needsOf(batch, holds) };
}

/** `freed` is what the operations so far have freed, or less than nothing if they took more than they freed. */
type Demand = { isAdmitting: boolean; needed: Money | null; freed: Money; opened: number; open: number };

function needsOf(batch: readonly Operation[], holds: ReadonlyMap<string, Money>): Needs {
  const accounts = new Map<string, Demand>();
  const keys = new Map<string, Demand>();
  const limits = new Map<string, Demand>();
  for (const operation of batch) {
    const { id, accountId, keyId } = operation.generation;
    const account = demandOf(accounts, accountId);
    const key = demandOf(keys, keyId);
    if (operation.kind === 'hold') {
      admit(account, operation);
      admit(key, operation);
      for (const meter of metersOf(operation)) admitTo(demandOf(limits, meter.id), meter.kind, operation);
    } else if (operation.kind === 'settle') {
      const hold = holds.get(id) ?? 0n;
      const cost = operation.cost?.total ?? 0n;
      // What was delivered counts towards a month, whatever is left of it.
      if (cost > hold) need(account, cost - hold);
      close(account, hold - cost);
      close(key, hold - cost);
      for (const { id: meterId, kind } of metersOf(operation))
        demandOf(limits, meterId).freed += freedBy(kind, hold - cost);
    } else {
      account.isAdmitting = true;
      key.isAdmitting = true;
    }
  }
  return {
    accounts: mapValues(accounts, ({ isAdmitting, needed }) => ({ isAdmitting, free: needed })),
    keys: mapValues(keys, ({ isAdmitting, needed, open }) => ({ isAdmitting, left: needed, open })),
    limits: neededOf(limits),
    limitVersions: limitVersionsOf(batch),
  };
}

/** Of accounts that have had limits. If two do not agree on a version, the older one has to be looked at again. */
function limitVersionsOf(batch: readonly Operation[]): Map<string, number> {
  const versions = new Map<string, number>();
  const admitting = batch.filter(({ kind }) => kind === 'hold' || kind === 'count');
  if (admitting.every(({ generation }) => !generation.limits)) return versions;
  for (const { generation } of admitting) {
    const version = generation.limits?.version ?? 0;
    const other = versions.get(generation.accountId) ?? version;
    versions.set(generation.accountId, version < other ? version : other);
  }
  return versions;
}

function neededOf(demands: ReadonlyMap<string, Demand>): Map<string, Money> {
  const needs = new Map<string, Money>();
  for (const [id, { needed }] of demands) if (needed !== null) needs.set(id, needed);
  return needs;
}

function demandOf(demands: Map<string, Demand>, id: string): Demand {
  const known = demands.get(id);
  if (known !== undefined) return known;
  const demand = { isAdmitting: false, needed: null, freed: 0n, opened: 0, open: 0 };
  demands.set(id, demand);
  return demand;
}

/** A hold between two amounts is the larger one if that is a small enough part of what can be spent. */
function admit(demand: Demand, { min, max }: Hold): void {
  demand.isAdmitting = true;
  if (max > 0n) need(demand, min === max ? max : max * holdDivisor);
  demand.freed -= max;
  demand.opened += 1;
  if (demand.open < demand.opened) demand.open = demand.opened;
}

/** The same for a limit, of money or of tokens. */
function admitTo(demand: Demand, kind: LimitKind, hold: Hold): void {
  const { min, max } = isSpend(kind) ? hold : countsOf(kind, hold);
  if (max === 0n) return;
  need(demand, min === max ? max : max * holdDivisor);
  demand.freed -= max;
}

function countsOf(kind: LimitKind, { tokens }: Hold): Readonly<{ min: Money; max: Money }> {
  if (kind !== 'tokens_per_minute') return { min: countUnit, max: countUnit };
  return { min: countUnit * BigInt(tokens?.min ?? 0), max: countUnit * BigInt(tokens?.max ?? 0) };
}

/** What a settlement gives back to a limit. */
function freedBy(kind: LimitKind, freed: Money): Money {
  if (isSpend(kind)) return freed;
  return kind === 'concurrent_requests' ? countUnit : 0n;
}

function need(demand: Demand, amount: Money): void {
  const needed = amount - demand.freed;
  if (demand.needed === null || demand.needed < needed) demand.needed = needed;
}

function close(demand: Demand, freed: Money): void {
  demand.freed += freed;
  demand.opened -= 1;
}

function mapValues<From, To>(map: ReadonlyMap<string, From>, change: (from: From) => To): Map<string, To> {
  return new Map(Array.from(map, ([id, value]) => [id, change(value)]));
}

/** The results with the rates that the keys had after each of the operations. */
export function withRates(
  batch: readonly Operation[],
  results: readonly OperationResult[],
  admitted: Admitted | null,
): readonly OperationResult[] {
  if (admitted === null) return results;
  const { keys, nowMs } = admitted;
  const rateOf = new Map(keys.map((key) => [key.keyId, { ...key }]));
  const rated = [...results];
  // From the last to the first: what was written is how the last one left it.
  for (let place = batch.length - 1; place >= 0; place -= 1) {
    const operation = batch[place] as Operation;
    const result = rated[place];
    const key = rateOf.get(operation.generation.keyId);
    if (typeof result !== 'object' || result.outcome === 'denied' || key === undefined) continue;
    const { requestsPerMinute } = key;
    const rate = rateAt(requestsPerMinute, key.theoreticalArrivalMs, nowMs);
    rated[place] =
      result.outcome === 'held' && result.tokens
        ? { ...result, rate, tokens: withRate(result.tokens, operation, admitted) }
        : { ...result, rate };
    key.theoreticalArrivalMs -= minuteMs / requestsPerMinute;
  }
  return rated;
}

/** As the whole batch has left it: nobody counts on a single token. */
function withRate(
  { count }: GrantedTokens,
  operation: Operation,
  { limits, nowMs }: Admitted,
): GrantedTokens | null {
  const states = metersOf(operation).flatMap((meter) => {
    const state = limits.get(meter.id);
    return state === undefined ? [] : [{ meter, ...state, held: 0n }];
  });
  const rate = tokenRate(states, nowMs);
  return rate === null ? null : { count, countedAtMs: nowMs, rate };
}
