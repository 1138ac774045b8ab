/** Codes that give credit, once each: for gateways without a payment provider, and for gifts. */
import type { SQL, TransactionSQL } from 'bun';
import { type Actor, recordChange } from '../audit-log/audit-log.ts';
import { newId } from '../lib/ids.ts';
import { formatMoney, type Money, moneyFromDatabase } from '../lib/money.ts';
import { hashSecret, secretFormat } from '../lib/secret-format.ts';

const format = secretFormat('tg_code_');

export const codeCategories = ['paid', 'promotional'] as const;
export type CodeCategory = (typeof codeCategories)[number];

export const maxCodes = 10_000;
export const maxGrantDays = 3650;

type CodeDraft = Readonly<{
  amount: Money;
  count: number;
  category: CodeCategory;
  expiresAt: Date | null;
  /** How long the credit lasts once the code was redeemed; null for without an end. */
  grantDays: number | null;
  /** For the operator; customers see it when they have redeemed the code. */
  note: string | null;
}>;

/** Returns the codes, which are not stored and cannot be shown again. */
export async function createCodesAs(
  transaction: TransactionSQL,
  actor: Actor,
  { amount, count, category, expiresAt, grantDays, note }: CodeDraft,
): Promise<Readonly<{ batch: string; codes: string[] }>> {
  const batch = newId();
  const codes = Array.from({ length: count }, () => format.generate());
  const rows = codes.map((code) => ({
    id: newId(),
    hash: hashSecret(code).toString('hex'),
    hint: format.hint(code),
  }));
  await transaction`
    insert into credit_codes (id, batch, hash, hint, amount, category, expires_at, grant_days, note)
    select id, ${batch}, decode(hash, 'hex'), hint, ${formatMoney(amount)}::numeric, ${category}, ${expiresAt}::timestamptz,
           ${grantDays}::int, ${note}::text
    from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as row (id uuid, hash text, hint text)`;
  await recordChange(transaction, actor, {
    action: 'create_codes',
    object: { type: 'codes', id: batch },
    after: {
      amount: formatMoney(amount),
      count,
      category,
      expires_at: expiresAt?.toISOString() ?? null,
      grant_days: grantDays,
      note,
    },
  });
  return { batch, codes };
}

/** Those that were not redeemed. Returns how many. */
export async function voidCodesAs(transaction: TransactionSQL, actor: Actor, batch: string): Promise<number> {
  const voided = await transaction`
    update credit_codes set voided_at = now()
    where batch = ${batch} and redeemed_at is null and voided_at is null returning 1`;
  if (voided.length > 0)
    await recordChange(transaction, actor, {
      action: 'void_codes',
      object: { type: 'codes', id: batch },
      after: { count: voided.length },
    });
  return voided.length;
}

export type CodeBatch = Readonly<{
  batch: string;
  amount: string;
  category: CodeCategory;
  note: string | null;
  count: number;
  redeemed: number;
  voided: number;
  expires_at: Date | null;
  grant_days: number | null;
  created_at: Date;
}>;

/** The newest first. */
export async function findCodeBatches(sql: SQL, limit: number): Promise<CodeBatch[]> {
  return await sql<CodeBatch[]>`
    select batch, min(amount) as amount, min(category) as category, min(note) as note, count(*)::int as count,
           count(redeemed_at)::int as redeemed, count(voided_at)::int as voided, min(expires_at) as expires_at,
           min(grant_days) as grant_days, min(created_at) as created_at
    from credit_codes group by batch order by batch desc limit ${limit}`;
}

/** Whether it can be one at all: what is only mistyped needs no query. */
export function isLikeCode(text: string): boolean {
  return format.isWellFormed(text);
}

type RedeemedRow = Readonly<{
  id: string;
  amount: string;
  category: CodeCategory;
  note: string | null;
  lasts_until: Date | null;
}>;

/** Belongs in a transaction that has checked who redeems it. Null when it is not valid, and why is not said. */
export async function redeemCode(
  transaction: TransactionSQL,
  actor: Extract<Actor, { door: 'dashboard' }>,
  accountId: string,
  code: string,
): Promise<Money | null> {
  const [found] = await transaction<RedeemedRow[]>`
    update credit_codes set redeemed_at = now(), account_id = ${accountId}, redeemed_by = ${actor.userId}
    where hash = ${hashSecret(code)} and redeemed_at is null and voided_at is null
      and (expires_at is null or expires_at > now())
    returning id, amount, category, note, clock_timestamp() + make_interval(days => grant_days) as lasts_until`;
  if (found === undefined) return null;
  const { id, amount, category, note, lasts_until: lastsUntil } = found;
  await recordChange(transaction, actor, {
    action: 'redeem_code',
    accountId,
    after: { amount, category, code: format.hint(code), expires_at: lastsUntil?.toISOString() ?? null },
  });
  const isPlain = category === 'paid' && lastsUntil === null;
  const terms = isPlain ? null : JSON.stringify({ category, expires_at: lastsUntil?.toISOString() ?? null });
  // Last, because requests of the account wait while its row is locked.
  await transaction`
    select book_own_movement('credit', ${accountId}, ${amount}::numeric, ${note ?? 'Code'}::text, ${id}, null,
      ${terms}::text::jsonb)`;
  return moneyFromDatabase(amount);
}
