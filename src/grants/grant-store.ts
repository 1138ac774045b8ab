/**
 * The grants of an account: what is left of them, and which of them its entries were drawn from. That is worked out when
 * somebody asks, so all of this is asked of the primary.
 */
import type { SQL } from 'bun';
import type { Actor } from '../audit-log/audit-log.ts';
import { addressOf, type GrantCategory, nameOf } from '../ledger/movements.ts';
import { newId } from '../lib/ids.ts';
import { type Money, moneyFromDatabase } from '../lib/money.ts';
import { draw } from './upkeep.ts';

export type Balances = Readonly<Record<GrantCategory, Money>>;

/** With what is held. An account that has only had plain credits has only what was paid. */
export async function findBalances(sql: SQL, accountId: string): Promise<Balances> {
  const rows = await sql<{ category: GrantCategory; amount: string }[]>`
    select category, amount from balances_by_category(${accountId}::uuid)`;
  const amounts = new Map(rows.map(({ category, amount }) => [category, moneyFromDatabase(amount)]));
  const left = (category: GrantCategory) => amounts.get(category) ?? 0n;
  return { paid: left('paid'), promotional: left('promotional'), allowance: left('allowance') };
}

export type GrantState = 'active' | 'used' | 'expired' | 'voided';
export const grantStates = ['active', 'used', 'expired', 'voided'] as const satisfies readonly GrantState[];

export type Grant = Readonly<{
  id: string;
  /** The number of the entry that it came with. 0 for the balance from before the first grant. */
  number: bigint;
  category: GrantCategory;
  amount: Money;
  remaining: Money;
  priority: number;
  expiresAt: Date | null;
  /** Of the entry. */
  memo: string | null;
  allowanceId: string | null;
  voidedAt: Date | null;
  voidReason: string | null;
  createdAt: Date;
  state: GrantState;
}>;

type GrantRow = Omit<Grant, 'number' | 'amount' | 'remaining' | 'state'> &
  Readonly<{ number: string; amount: string; remaining: string; isOver: boolean }>;

/** The newest first. */
export async function findGrants(
  sql: SQL,
  accountId: string,
  { before = null, count = null }: Readonly<{ before?: bigint | null; count?: number | null }> = {},
): Promise<Grant[]> {
  await sql`select refresh_grants(${accountId}::uuid)`;
  const rows = await sql<GrantRow[]>`
    select ${grantColumns(sql)} from grants
    where account_id = ${accountId} and (${before}::bigint is null or number < ${before}::bigint)
    order by number desc limit ${count}::bigint`;
  return rows.map(grantFrom);
}

/** Those that can still be spent, in the order of spending, after the one with a number. */
export async function findActiveGrants(
  sql: SQL,
  accountId: string,
  { after = null, count }: Readonly<{ after?: bigint | null; count: number }>,
): Promise<Grant[]> {
  await sql`select refresh_grants(${accountId}::uuid)`;
  // The terms of a grant never change, so it has its place in the order of grants_in_order also when nothing is left of it.
  const rows = await sql<GrantRow[]>`
    select ${grantColumns(sql)}
    from grants join grants_in_order as one on one.account_id = grants.account_id and one.number = grants.number
    where grants.account_id = ${accountId} and grants.ended_at is null
      and (${after}::bigint is null or (grants.priority, coalesce(grants.expires_at, 'infinity'), grants.category = 'paid',
        grants.category = 'promotional', grants.number) > (
          select priority, coalesce(expires_at, 'infinity'), category = 'paid', category = 'promotional', number
          from grants where account_id = ${accountId} and number = ${after}::bigint))
    order by one.place limit ${count}::bigint`;
  return rows.map(grantFrom);
}

export async function findGrant(
  sql: SQL,
  { id, accountId }: Readonly<{ id: string; accountId: string }>,
): Promise<Grant | null> {
  await sql`select refresh_grants(${accountId}::uuid)`;
  const [row] = await sql<GrantRow[]>`
    select ${grantColumns(sql)} from grants where account_id = ${accountId} and id = ${id}`;
  return row === undefined ? null : grantFrom(row);
}

/** Null when there is no such grant. */
export async function findAccountOfGrant(sql: SQL, id: string): Promise<string | null> {
  const [row] = await sql<{ account_id: string }[]>`select account_id from grants where id = ${id}`;
  return row?.account_id ?? null;
}

function grantColumns(sql: SQL) {
  return sql`grants.id, grants.number::text as number, grants.category, grants.amount, grants.remaining, grants.priority,
    grants.expires_at as "expiresAt", grants.allowance_id as "allowanceId", grants.voided_at as "voidedAt",
    grants.void_reason as "voidReason", grants.created_at as "createdAt",
    grants.expires_at <= clock_timestamp() is true as "isOver",
    (select memo from ledger_entries where account_id = grants.account_id and number = grants.number) as memo`;
}

function grantFrom({ isOver, ...row }: GrantRow): Grant {
  const remaining = moneyFromDatabase(row.remaining);
  return {
    ...row,
    number: BigInt(row.number),
    amount: moneyFromDatabase(row.amount),
    remaining,
    state: stateOf(row.voidedAt !== null, isOver, remaining),
  };
}

function stateOf(isVoided: boolean, isOver: boolean, remaining: Money): GrantState {
  if (isVoided) return 'voided';
  if (isOver) return 'expired';
  return remaining === 0n ? 'used' : 'active';
}

export type Voided =
  | Readonly<{ outcome: 'voided'; taken: Money }>
  | Readonly<{ outcome: 'repeated' | 'nothing_left' | 'no_grant' | 'denied' }>;

/** What holds keep of it leaves when they end. Whoever is signed in has to be an operator. */
export async function voidGrant(
  sql: SQL,
  actor: Actor,
  grant: Readonly<{ accountId: string; id: string; reason: string }>,
): Promise<Voided> {
  const [row] = await sql<[{ outcome: Voided['outcome']; taken: string | null }]>`
    select outcome, taken from void_grant(${nameOf(actor)}, ${grant.accountId}::uuid, ${grant.id}::uuid, ${grant.reason},
      ${newId()}::uuid, ${addressOf(actor)})`;
  const { outcome, taken } = row;
  return outcome === 'voided' ? { outcome, taken: moneyFromDatabase(taken ?? '0') } : { outcome };
}

/** Draws however much is left to draw: an entry that was not drawn yet looks like one that took nothing. */
async function refresh(sql: SQL, accountId: string): Promise<void> {
  await draw(sql, accountId);
  await sql`select refresh_grants(${accountId}::uuid)`;
}

/** A negative amount was given back. */
export type Draw = Readonly<{ grantId: string; number: bigint; category: GrantCategory; amount: Money }>;

export type Draws = ReadonlyMap<bigint, readonly Draw[]>;

/** What the entries of a page, the newest first, took from which grants, by the numbers of the entries. */
export async function findDraws(
  sql: SQL,
  accountId: string,
  entries: readonly Readonly<{ number: bigint }>[],
): Promise<Draws> {
  const [last, first] = [entries.at(0), entries.at(-1)];
  if (last === undefined || first === undefined) return new Map();
  await refresh(sql, accountId);
  const rows = await sql<DrawRow[]>`
    select entry_number::text as entry, grants.id as "grantId", grants.number::text as number, category, draws.amount
    from grant_draws as draws join grants on grants.account_id = draws.account_id and grants.number = grant_number
    where draws.account_id = ${accountId} and entry_number between ${first.number} and ${last.number}
    order by entry_number, grant_number`;
  const draws = new Map<bigint, Draw[]>();
  for (const { entry, ...row } of rows) {
    const ofEntry = draws.get(BigInt(entry)) ?? [];
    draws.set(BigInt(entry), ofEntry);
    ofEntry.push({ ...row, number: BigInt(row.number), amount: moneyFromDatabase(row.amount) });
  }
  return draws;
}

type DrawRow = Omit<Draw, 'number' | 'amount'> & Readonly<{ entry: string; number: string; amount: string }>;

/** What the charge of a Generation took, as it was charged. None if the money of its account was not told apart. */
export async function findDrawsOfGeneration(
  sql: SQL,
  { id, accountId }: Readonly<{ id: string; accountId: string }>,
): Promise<readonly Draw[]> {
  await refresh(sql, accountId);
  const rows = await sql<Omit<DrawRow, 'entry'>[]>`
    select grants.id as "grantId", grants.number::text as number, category, draws.amount
    from grant_draws as draws join grants on grants.account_id = draws.account_id and grants.number = grant_number
    where generation_id = ${id} and draws.account_id = ${accountId}
    order by grant_number`;
  return rows.map((row) => ({ ...row, number: BigInt(row.number), amount: moneyFromDatabase(row.amount) }));
}
