/** GET /v1/key: what an API key may do and has left, as of now. */
import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import { findNextExpiry } from '../grants/categories.ts';
import { findBalances } from '../grants/grant-store.ts';
import { presentBalances, presentExpiry } from '../grants/present.ts';
import type { Handler } from '../http/context.ts';
import { lookUp } from '../http/lookup.ts';
import { readQuery } from '../http/query.ts';
import { formatMoney, moneyFromDatabase } from '../lib/money.ts';
import { rateAt } from '../lib/rate-limit.ts';
import { findLimitsOfKey } from '../limits/limit-store.ts';
import { presentAppliedLimit } from '../limits/present.ts';
import type { Authenticate } from './authenticate.ts';
import type { StoredKey } from './key-store.ts';

const failure = 'api_keys_lookup_failed';

/** From the primary: a client may ask right after a request. */
export function getKey({ sql, authenticate }: Readonly<{ sql: SQL; authenticate: Authenticate }>): Handler {
  return async (request, context) => {
    const { id } = await authenticate(request, context, failure);
    readQuery(request.url, []);
    const found = await lookUp(failure, () => findKeyStatus(sql, id));
    if (found === null) throw new ApiError('invalid_api_key');
    const { status, balance } = await lookUp(failure, () => findBalance(sql, found));
    const limits = await lookUp(failure, () => findLimitsOfKey(sql, id));
    const now = new Date();
    return Response.json({
      ...presentKeyStatus(status),
      balance: { available: amount(status.available), currency: 'USD', ...balance },
      limits: limits.map((limit) => presentAppliedLimit(limit, now)),
    });
  };
}

type KeyStatus = Pick<
  StoredKey,
  'id' | 'name' | 'created_at' | 'requests_per_minute' | 'max_concurrent' | 'monthly_limit' | 'allowed_models'
> &
  Readonly<{
    /** When the key ends, by its expiry or because it was replaced. */
    ends_at: Date | null;
    /** How far the key is ahead of its rate. */
    ahead_ms: number;
    open_count: number;
    month_start: string;
    month_spent: string;
    held: string;
    available: string;
    account_id: string;
    balance: string;
    /** Whether the money of the account is told apart. */
    has_grants: boolean;
  }>;

/** Null when the key is not valid at this moment, whatever the cache of this node knows. */
async function findKeyStatus(sql: SQL, keyId: string): Promise<KeyStatus | null> {
  const [status] = await sql<KeyStatus[]>`
    select api_keys.id, api_keys.name, api_keys.created_at, least(expires_at, revoked_at) as ends_at, requests_per_minute,
           max_concurrent, monthly_limit, allowed_models, open_count, api_key_meters.held,
           extract(epoch from theoretical_arrival_at - now())::float8 * 1000 as ahead_ms,
           to_char(date_trunc('month', now() at time zone 'UTC'), 'YYYY-MM-DD') as month_start,
           -- A key that was not used this month still has the sum of the last month in which it was.
           case when month = date_trunc('month', now() at time zone 'UTC') then month_spent else 0::numeric(38,12) end
             as month_spent,
           balance - accounts.held as available, account_id, balance, grants_due_at is not null as has_grants
    from api_keys
      join api_key_meters on key_id = api_keys.id
      join accounts on accounts.id = account_id
    where api_keys.id = ${keyId} and suspended_at is null
      and (revoked_at is null or revoked_at > now()) and (expires_at is null or expires_at > now())`;
  return status ?? null;
}

/** The balance by category, with what is held, and what expires next. It costs nothing for accounts without grants. */
async function findBalance(sql: SQL, status: KeyStatus) {
  if (!status.has_grants) {
    const plain = { paid: moneyFromDatabase(status.balance), promotional: 0n, allowance: 0n };
    return { status, balance: { by_category: presentBalances(plain), expiring: null } };
  }
  const balances = await findBalances(sql, status.account_id);
  const next = await findNextExpiry(sql, status.account_id);
  // Once more, because grants that were due have just been settled.
  const settled = (await findKeyStatus(sql, status.id)) ?? status;
  const expiring = next === null ? null : presentExpiry(next);
  return { status: settled, balance: { by_category: presentBalances(balances), expiring } };
}

function presentKeyStatus(status: KeyStatus) {
  const { requests_per_minute: requestsPerMinute, monthly_limit: limit } = status;
  const { remaining, resetMs } = rateAt(requestsPerMinute, status.ahead_ms, 0);
  return {
    object: 'api_key',
    id: status.id,
    name: status.name,
    created_at: status.created_at.toISOString(),
    expires_at: status.ends_at?.toISOString() ?? null,
    allowed_models: status.allowed_models,
    rate: {
      requests_per_minute: requestsPerMinute,
      remaining,
      reset_seconds: Math.ceil(resetMs) / 1000,
    },
    concurrency: { limit: status.max_concurrent, in_progress: status.open_count },
    month: {
      start: status.month_start,
      limit: limit === null ? null : amount(limit),
      spent: amount(status.month_spent),
      held: amount(status.held),
      remaining: limit === null ? null : leftOf(limit, status),
    },
  };
}

function amount(stored: string): string {
  return formatMoney(moneyFromDatabase(stored));
}

/** A limit that was lowered may be below what was spent. */
function leftOf(limit: string, { month_spent: spent, held }: KeyStatus): string {
  const left = moneyFromDatabase(limit) - moneyFromDatabase(spent) - moneyFromDatabase(held);
  return formatMoney(left > 0n ? left : 0n);
}
