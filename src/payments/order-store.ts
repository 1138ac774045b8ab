/** Orders as they are stored. Whoever asks Stripe about one has claimed it before, and loses no newer answer to an older. */
import type { SQL } from 'bun';
import { newId } from '../lib/ids.ts';
import { formatMoney, moneyFromDatabase } from '../lib/money.ts';
import type { Pointers } from './event.ts';
import type { Facts, Warning } from './facts.ts';
import type { Verdict } from './judge.ts';
import type { Order } from './order.ts';
import { pace } from './pace.ts';

type OrderDraft = Pick<Order, 'id' | 'accountId' | 'amount' | 'isLive' | 'customer' | 'savesCard'> &
  Readonly<{ userId: string }>;

export async function insertCheckoutOrder(sql: SQL, draft: OrderDraft): Promise<void> {
  await sql`
    insert into payment_orders (id, account_id, kind, amount, currency, is_live, customer, saves_card, created_by, next_look_at)
    values (${draft.id}, ${draft.accountId}, 'checkout', ${formatMoney(draft.amount)}::numeric, 'usd', ${draft.isLive},
      ${draft.customer}, ${draft.savesCard}, ${draft.userId}, now() + make_interval(secs => ${pace.firstLookSeconds}::int))`;
}

export async function storeSession(sql: SQL, id: string, session: string): Promise<void> {
  await sql`
    update payment_orders set session = ${session}, state = 'open', updated_at = now()
    where id = ${id} and session is null`;
}

export async function storeInvoice(sql: SQL, id: string, invoice: string): Promise<void> {
  await sql`
    update payment_orders set invoice = ${invoice}, state = 'open', updated_at = now()
    where id = ${id} and invoice is null`;
}

/** Before anything could be paid. */
export async function closeUnopened(sql: SQL, id: string, problem: string): Promise<void> {
  await sql`
    update payment_orders
    set state = 'failed', problem = ${problem}, next_look_at = null, claim = null, claimed_until = null, updated_at = now()
    where id = ${id} and session is null and invoice is null and credited_at is null`;
}

/** Has orders looked at soon. Returns their IDs. */
export async function askForLook(
  sql: SQL,
  { isLive, orders, objects }: Pick<Pointers, 'isLive' | 'orders' | 'objects'>,
): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    update payment_orders set asked = asked + 1, next_look_at = now()
    where is_live = ${isLive} and (id = any (${sql.array([...orders], 'uuid')})
      or session = any (${sql.array([...objects], 'text')})
      or payment_intent = any (${sql.array([...objects], 'text')})
      or invoice = any (${sql.array([...objects], 'text')}))
    returning id`;
  return rows.map(({ id }) => id);
}

export async function findDueOrders(sql: SQL, isLive: boolean, limit: number): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select id from payment_orders
    where next_look_at <= now() and is_live = ${isLive} and (claimed_until is null or claimed_until < now())
    order by next_look_at limit ${limit}`;
  return rows.map(({ id }) => id);
}

/** `seen` counts who asked before: whoever asks later has it looked at again. */
export type ClaimedOrder = Readonly<{ order: Order; claim: string; seen: number; lookFailures: number }>;

type OrderRow = Omit<Order, 'amount'> & Readonly<{ amount: string; seen: number; lookFailures: number }>;

/** Null when it is not due, or someone else is looking. */
export async function claimOrder(sql: SQL, id: string): Promise<ClaimedOrder | null> {
  const claim = newId();
  const [row] = await sql<OrderRow[]>`
    update payment_orders set claim = ${claim}, claimed_until = now() + make_interval(secs => ${pace.claimSeconds}::int)
    where id = ${id} and next_look_at <= now() and (claimed_until is null or claimed_until < now())
    returning id, account_id as "accountId", kind, amount, currency, is_live as "isLive", state, customer, session, invoice,
      payment_method as "paymentMethod", saves_card as "savesCard", created_at as "createdAt", asked as seen, look_failures as "lookFailures"`;
  if (row === undefined) return null;
  const { seen, lookFailures, amount, ...order } = row;
  return { order: { ...order, amount: moneyFromDatabase(amount) }, claim, seen, lookFailures };
}

/** What is stored of Stripe's objects. */
type Found = Pick<Facts, 'invoice' | 'paymentIntent' | 'received' | 'receiptUrl'>;

export const nothingFound: Found = { invoice: null, paymentIntent: null, received: 0n, receiptUrl: null };

type Look = Readonly<{
  claimed: ClaimedOrder;
  facts: Found;
  verdict: Verdict;
  /** Whether a dispute suspends the account. */
  suspends: boolean;
  /** Null when only an event can change anything. */
  lookAgainSeconds: number | null;
}>;

export type Applied = Readonly<{ wasCredited: boolean; wasDisputed: boolean }>;

/** One statement, because requests of the account wait meanwhile. Null when the claim is lost: someone has looked since. */
export async function applyLook(
  sql: SQL,
  { claimed, facts, verdict, suspends, lookAgainSeconds }: Look,
): Promise<Applied | null> {
  const { order, claim, seen } = claimed;
  const isPaid = verdict.state === 'paid' || verdict.state === 'contradicted';
  const reversals = verdict.reversals.map(({ id, kind, amount, status, due, takesMoney }) => ({
    id,
    kind,
    amount_minor: `${amount}`,
    status,
    due: formatMoney(due),
    takes_money: takesMoney,
  }));
  const [applied] = await sql<Applied[]>`
    select was_credited as "wasCredited", was_disputed as "wasDisputed" from apply_payment_look(
      ${order.id}, ${claim}, ${seen}, ${verdict.state}::text, ${verdict.problem}::text, ${facts.invoice}::text,
      ${facts.paymentIntent}::text, ${isPaid ? facts.received : null}::bigint, ${isPaid ? facts.receiptUrl : null}::text,
      ${JSON.stringify(reversals)}::text::jsonb, ${suspends}::boolean, ${lookAgainSeconds}::float8,
      ${order.kind === 'checkout' ? 'Payment' : 'Automatic top-up'}::text)`;
  return applied ?? null;
}

/** Stores what is new. Returns how many are. They are never taken back, so an old answer does no harm. */
export async function recordWarnings(
  sql: SQL,
  orderId: string,
  warnings: readonly Warning[],
  suspends: boolean,
): Promise<number> {
  if (warnings.length === 0) return 0;
  const rows = warnings.map(({ id, fraudType, isActionable }) => ({
    id,
    fraud_type: fraudType,
    is_actionable: isActionable,
  }));
  const [{ count }] = await sql<[{ count: number }]>`
    select record_payment_warnings(${orderId}, ${JSON.stringify(rows)}::text::jsonb, ${suspends}::boolean) as count`;
  return count;
}

/** Nothing is known yet, or the look has failed. It is tried again later. */
export async function releaseOrder(
  sql: SQL,
  { order, claim }: ClaimedOrder,
  seconds: number,
  problem: string | null = null,
): Promise<void> {
  await sql`
    update payment_orders
    set claim = null, claimed_until = null, look_failures = look_failures + 1, look_problem = ${problem},
        next_look_at = now() + make_interval(secs => ${seconds}::float8)
    where id = ${order.id} and claim = ${claim}`;
}

/**
 * Takes what refunds and disputes could not take before, from accounts that have credit again, or from one of them. In any
 * order, so that those that cannot be collected do not take the places of others for ever.
 */
export async function collectDebts(
  sql: SQL,
  limit: number,
  onError: (paymentId: string, error: unknown) => void,
  accountId: string | null = null,
): Promise<void> {
  const owed = await sql<{ id: string }[]>`
    select order_id as id from payment_reversals
    join payment_orders on payment_orders.id = order_id
    join accounts on accounts.id = account_id
    where due > taken and balance > accounts.held and (${accountId}::uuid is null or account_id = ${accountId}::uuid)
    group by order_id order by random() limit ${limit}`;
  // One by one: a transaction that locks several accounts could wait for one that locks them in another order.
  for (const { id } of owed)
    await sql`select collect_payment_reversals(${id})`.catch((error: unknown) => onError(id, error));
}
