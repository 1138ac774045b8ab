/**
 * What people move by hand: credits, corrections and refunds. The dashboard, the command line and programs book them with the
 * same function. Charges, and refunds of responses that were never delivered, are the gateway's own.
 */
import type { SQL } from 'bun';
import type { Actor } from '../audit-log/audit-log.ts';
import { newId } from '../lib/ids.ts';
import { formatMoney, type Money, moneyFromDatabase } from '../lib/money.ts';
import { referenceOf } from './reference.ts';

export type Credit = Readonly<{
  kind: 'credit';
  accountId: string;
  amount: Money;
  memo: string | null;
  /** Without one, a credit that is sent twice is given twice. */
  reference: string | null;
  /** A plain credit has none: it is paid for, and stays until it is spent. */
  grant?: GrantTerms | null | undefined;
}>;

/** Money that is told apart from other money of its account. */
export type GrantTerms = Readonly<{
  category: GrantCategory;
  /** From 0 to 100. The lower number is spent first. */
  priority: number;
  expiresAt: Date | null;
}>;

export const grantCategories = ['paid', 'promotional', 'allowance'] as const;
export type GrantCategory = (typeof grantCategories)[number];
export const defaultPriority = 50;

/** An entry of the account, by its number, or a Generation. */
type Concern = Readonly<{ entryNumber: bigint }> | Readonly<{ generationId: string }>;

/** Gives or, with a negative amount, takes. `rest` undoes what is left of an entry: a credit or another correction. */
export type Correction = Readonly<{
  kind: 'correction';
  accountId: string;
  /** The customer sees it. */
  reason: string;
  reference: string;
}> &
  (
    | Readonly<{ amount: Money; about: Concern | null }>
    | Readonly<{ amount: 'rest'; about: Extract<Concern, { entryNumber: bigint }> }>
  );

/** Gives back the charge of a Generation, or a part of it. Its usage stays; what was spent in its month becomes less. */
export type Refund = Readonly<{
  kind: 'refund';
  generationId: string;
  /** Null where the Generation is enough to find it. */
  accountId: string | null;
  amount: Money | 'rest';
  /** The customer sees it. */
  reason: string;
  reference: string;
}>;

export type Movement = Credit | Correction | Refund;

/** `repeated`: it was booked before with this reference, and this time nothing was. */
export type Booked = Readonly<{
  outcome: 'booked' | 'repeated';
  accountId: string;
  /** Null in a preview, and for credits from before it was recorded. */
  entryNumber: bigint | null;
  amount: Money;
  /** After the movement, as of now. */
  balance: Money;
  held: Money;
}>;

type Limited = Exclude<Movement['kind'], 'credit'>;

/** Nothing was booked. `earlier` is the amount of the movement that has this reference. */
export type Refused =
  | Readonly<{ outcome: 'denied' | 'no_account' | 'no_generation' | 'no_entry' | 'not_undoable' }>
  | Readonly<{ outcome: 'nothing_left'; kind: Limited }>
  | Readonly<{ outcome: 'too_large'; kind: Limited; possible: Money }>
  | Readonly<{ outcome: 'different'; earlier: Money }>;

export function isBooked(result: Booked | Refused): result is Booked {
  return result.outcome === 'booked' || result.outcome === 'repeated';
}

/**
 * Once for its reference, whatever kind of movement of this account that is for. Whoever is signed in has to be an operator,
 * which is checked with the movement itself; whoever lets a token in checks its scope.
 */
export async function book(sql: SQL, actor: Actor, movement: Movement): Promise<Booked | Refused> {
  return await run(sql, actor, movement, false);
}

/** What `book` would do now. Nothing is written, but what has ended is gone afterwards, and nobody waits for it. */
export async function preview(sql: SQL, actor: Actor, movement: Movement): Promise<Booked | Refused> {
  if (movement.accountId !== null) await sql`select refresh_grants(${movement.accountId}::uuid)`;
  return await run(sql, actor, movement, true);
}

/** The last correction of an entry of which nothing is left, as if it were booked again. Null when there is none. */
export async function findUndone(sql: SQL, accountId: string, entryNumber: bigint): Promise<Booked | null> {
  const [row] = await sql<Omit<MovementRow, 'outcome' | 'possible'>[]>`
    select account_id, number as entry_number, amount, balance, held
    from credit_references join accounts on id = account_id
    where account_id = ${accountId} and concerns_entry = ${entryNumber}
    order by number desc limit 1`;
  return row === undefined ? null : bookedOf({ ...row, outcome: 'repeated' });
}

type MovementRow = {
  outcome: Booked['outcome'] | Refused['outcome'];
  account_id: string;
  entry_number: bigint | null;
  amount: string | null;
  balance: string | null;
  held: string | null;
  possible: string | null;
};

async function run(sql: SQL, actor: Actor, movement: Movement, isPreview: boolean) {
  const { kind } = movement;
  const amount = movement.amount === 'rest' ? null : formatMoney(movement.amount);
  const words = kind === 'credit' ? movement.memo : movement.reason;
  const reference = movement.reference === null ? null : referenceOf(movement.reference);
  const { entryNumber, generationId } = concernOf(movement);
  const [row] = await sql<[MovementRow]>`
    select outcome, account_id, entry_number, amount, balance, held, possible from book_movement(
      ${kind}::text, ${nameOf(actor)}::text, ${movement.accountId}::uuid, ${amount}::numeric, ${words}::text,
      ${reference?.id ?? null}::uuid, ${reference?.text ?? null}::text, ${entryNumber}::bigint, ${generationId}::uuid,
      ${newId()}::uuid, ${addressOf(actor)}::text, ${isPreview}::boolean, ${termsOf(movement)}::text::jsonb)`;
  return resultOf(row, kind === 'refund' ? kind : 'correction');
}

function concernOf(movement: Movement): { entryNumber: bigint | null; generationId: string | null } {
  const nothing = { entryNumber: null, generationId: null };
  if (movement.kind === 'refund') return { ...nothing, generationId: movement.generationId };
  return movement.kind === 'correction' ? { ...nothing, ...movement.about } : nothing;
}

function termsOf(movement: Movement): string | null {
  if (movement.kind !== 'credit' || !movement.grant) return null;
  const { category, priority, expiresAt } = movement.grant;
  return JSON.stringify({ category, priority, expires_at: expiresAt?.toISOString() ?? null });
}

export function addressOf(actor: Actor): string | null {
  return actor.door === 'cli' ? null : actor.address;
}

/** As entries name whoever made them. */
export function nameOf(actor: Actor): string {
  switch (actor.door) {
    case 'dashboard':
      return `operator:${actor.userId}`;
    case 'cli':
      return `shell:${actor.shellUser}`;
    case 'api':
      return `token:${actor.tokenId}`;
  }
}

function resultOf(row: MovementRow, kind: Limited): Booked | Refused {
  const { outcome } = row;
  switch (outcome) {
    case 'booked':
    case 'repeated':
      return bookedOf({ ...row, outcome });
    case 'different':
      return { outcome, earlier: money(row.amount) };
    case 'too_large':
      return { outcome, kind, possible: money(row.possible) };
    case 'nothing_left':
      return { outcome, kind };
    default:
      return { outcome };
  }
}

function bookedOf(
  row: Omit<MovementRow, 'outcome' | 'possible'> & Readonly<{ outcome: Booked['outcome'] }>,
): Booked {
  return {
    outcome: row.outcome,
    accountId: row.account_id,
    entryNumber: row.entry_number === null ? null : BigInt(row.entry_number),
    amount: money(row.amount),
    balance: money(row.balance),
    held: money(row.held),
  };
}

const money = (text: string | null) => moneyFromDatabase(text ?? '0');
