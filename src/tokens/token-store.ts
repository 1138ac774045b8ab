/** Tokens of the admin API: `tg_admin_…`. Only their hashes are stored. */
import type { SQL, TransactionSQL } from 'bun';
import { type Actor, recordChange } from '../audit-log/audit-log.ts';
import { ApiError } from '../errors.ts';
import { newId } from '../lib/ids.ts';
import { hashSecret, secretFormat } from '../lib/secret-format.ts';

/** What a token allows: to read everything, and to change what the others name. */
export const scopes = ['read', 'accounts', 'keys', 'money', 'catalogue'] as const;
export type Scope = (typeof scopes)[number];

export const tokenFormat = secretFormat('tg_admin_');

export const defaultTokenRate = 600;
export const maxTokenRate = 100_000;
export const defaultTokenDays = 90;
/** The same day next year, also in a leap year. */
export const maxTokenDays = 366;
export const maxNetworks = 50;

export type TokenDraft = Readonly<{
  name: string;
  scopes: readonly Scope[];
  /** The only addresses that it can be used from, such as 10.0.0.0/8; null for all. */
  networks: readonly string[] | null;
  requestsPerMinute: number;
  expiresAt: Date;
}>;

/** A token as lists show it, by its names on the wire. */
export type TokenOverview = Readonly<{
  id: string;
  name: string;
  /** Such as tg_admin_…a1b2. */
  hint: string;
  state: 'active' | 'revoked' | 'expired';
  scopes: Scope[];
  networks: string[] | null;
  requests_per_minute: number;
  /** The address of the operator who created it; null at the command line. */
  created_by: string | null;
  created_at: Date;
  expires_at: Date;
  revoked_at: Date | null;
  last_used_at: Date | null;
}>;

export function isTooFarAhead(expiresAt: Date, now: Date): boolean {
  return expiresAt.getTime() - now.getTime() > maxTokenDays * 24 * 60 * 60 * 1000;
}

/** Returns the token itself, which is not stored and cannot be shown again. */
export async function createTokenAs(
  transaction: TransactionSQL,
  actor: Actor,
  draft: TokenDraft,
): Promise<Readonly<{ id: string; secret: string }>> {
  const id = newId();
  const secret = tokenFormat.generate();
  const { name, networks, requestsPerMinute, expiresAt } = draft;
  await transaction`
    insert into admin_tokens (id, name, hash, hint, scopes, networks, requests_per_minute, created_by, expires_at)
    values (${id}, ${name}, ${hashSecret(secret)}, ${tokenFormat.hint(secret)},
            ${transaction.array([...draft.scopes], 'text')}::text[],
            ${networks === null ? null : transaction.array([...networks], 'text')}::text[], ${requestsPerMinute},
            ${actor.door === 'dashboard' ? actor.userId : null}::uuid, ${expiresAt})`;
  await transaction`insert into admin_token_uses (token_id) values (${id})`;
  await recordChange(transaction, actor, {
    action: 'create_token',
    object: { type: 'token', id },
    after: {
      name,
      scopes: draft.scopes,
      networks,
      requests_per_minute: requestsPerMinute,
      expires_at: expiresAt,
    },
  });
  return { id, secret };
}

/** Every request reads its token, so it ends at once on all nodes. False when it had been revoked before. */
export async function revokeTokenAs(transaction: TransactionSQL, actor: Actor, id: string): Promise<boolean> {
  const revoked = await transaction`
    update admin_tokens set revoked_at = now() where id = ${id} and revoked_at is null returning id`;
  if (revoked.length > 0)
    await recordChange(transaction, actor, { action: 'revoke_token', object: { type: 'token', id } });
  else await requireToken(transaction, id);
  return revoked.length > 0;
}

/** Someone who is no longer an operator may have kept them, and someone who knew a password may have made them. */
export async function revokeTokensOf(
  transaction: TransactionSQL,
  actor: Actor,
  userId: string,
): Promise<void> {
  const tokens = await transaction<{ id: string }[]>`
    select id from admin_tokens where created_by = ${userId} and revoked_at is null order by id for no key update`;
  for (const { id } of tokens) await revokeTokenAs(transaction, actor, id);
}

export async function requireToken(sql: SQL, id: string): Promise<TokenOverview> {
  const [token] = await findTokens(sql, id);
  if (token === undefined) throw new ApiError('token_not_found');
  return token;
}

/** How many revoked or expired tokens a list contains. */
const maxEnded = 100;

/** The newest first: all that are active, and the newest of the others. With an ID, only that one. */
export async function findTokens(sql: SQL, id: string | null = null): Promise<TokenOverview[]> {
  return await sql<TokenOverview[]>`
    select id, name, hint, state, scopes, networks, requests_per_minute, created_by, created_at, expires_at, revoked_at,
           last_used_at
    from (
      select *, row_number() over (partition by state = 'active' order by id desc) as place from (
        select admin_tokens.id, admin_tokens.name, hint,
               case when revoked_at is not null then 'revoked' when expires_at <= now() then 'expired' else 'active' end as state,
               scopes, networks, requests_per_minute, users.email as created_by, admin_tokens.created_at, expires_at,
               revoked_at, last_used_at
        from admin_tokens left join users on users.id = created_by left join admin_token_uses on token_id = admin_tokens.id
        where ${id}::uuid is null or admin_tokens.id = ${id}::uuid
      ) as tokens
    ) as placed
    where state = 'active' or place <= ${maxEnded}
    order by id desc`;
}

/** What a request needs to know of its token. */
export type StoredToken = Readonly<{
  id: string;
  scopes: readonly Scope[];
  networks: readonly string[] | null;
  requestsPerMinute: number;
  isExpired: boolean;
}>;

/** Null when there is none, or it was revoked. */
export async function findTokenByHash(sql: SQL, hash: Buffer): Promise<StoredToken | null> {
  const [token] = await sql<StoredToken[]>`
    select id, scopes, networks, requests_per_minute as "requestsPerMinute", expires_at <= now() as "isExpired"
    from admin_tokens where hash = ${hash} and revoked_at is null`;
  return token ?? null;
}

/**
 * Locks the token for a change: one that ended since the request began makes none, and whoever revokes one waits for the
 * changes that it makes.
 */
export async function keepToken(transaction: TransactionSQL, id: string): Promise<void> {
  const [token] = await transaction<{ is_expired: boolean }[]>`
    select expires_at <= now() as is_expired from admin_tokens where id = ${id} and revoked_at is null for share`;
  if (token === undefined) throw new ApiError('invalid_admin_token');
  if (token.is_expired) throw new ApiError('expired_admin_token');
}

/**
 * Counts a request of all nodes together, and notes the time. `isWithin` is false when the token is over its rate, and then
 * nothing is counted. `aheadMs` is how far it is ahead of its rate.
 */
export async function countUse(
  sql: SQL,
  { id, requestsPerMinute }: StoredToken,
): Promise<Readonly<{ isWithin: boolean; aheadMs: number }>> {
  const [row] = await sql<[{ is_within: boolean; ahead_ms: number }]>`
    with before as materialized (
      -- Locked, so that one that is refused sees those that came before it.
      select theoretical_arrival_at as arrival from admin_token_uses where token_id = ${id} for update
    ), used as (
      update admin_token_uses
      set last_used_at = now(),
          theoretical_arrival_at = greatest(arrival, now()) + interval '1 minute' / ${requestsPerMinute}::int
      from before
      where token_id = ${id} and arrival <= now() + interval '1 minute' - interval '1 minute' / ${requestsPerMinute}::int
      returning theoretical_arrival_at
    )
    select exists (select 1 from used) as is_within,
           greatest(0, extract(epoch from coalesce((select theoretical_arrival_at from used), (select arrival from before))
             - now()))::float8 * 1000 as ahead_ms`;
  return { isWithin: row.is_within, aheadMs: row.ahead_ms };
}
