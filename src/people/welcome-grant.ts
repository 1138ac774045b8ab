/**
 * Credit for those who sign up. It is given once to each, and only so many times a day to one network and in all, so what
 * hostile sign-ups can cost is known in advance.
 */
import { createHmac } from 'node:crypto';
import type { SQL, TransactionSQL } from 'bun';
import { type DashboardActor, recordChange } from '../audit-log/audit-log.ts';
import { formatMoney, type Money } from '../lib/money.ts';
import { type ClientNetworks, widened } from './sign-in-limits.ts';

/** `days` is how long the credit can be used; null means forever. Days begin at midnight UTC. */
export type WelcomeGrantSettings = Readonly<{
  amount: Money;
  days: number | null;
  maxPerNetworkAndDay: number;
  maxPerDay: number;
}>;

export type WelcomeGrants = Readonly<{
  /** Null when nothing is given. */
  settings: WelcomeGrantSettings | null;
  /** Belongs in the transaction of a sign-up: this user may get one, for this account. */
  offer: (transaction: TransactionSQL, userId: string, accountId: string) => Promise<void>;
  /** Gives what was offered to this user, unless enough was given. Decided once, however often it is called. */
  decide: (transaction: TransactionSQL, actor: DashboardActor, client: ClientNetworks) => Promise<void>;
}>;

export function openWelcomeGrants(settings: WelcomeGrantSettings | null, key: Buffer): WelcomeGrants {
  return {
    settings,

    offer: async (transaction, userId, accountId) => {
      if (settings !== null)
        await transaction`insert into welcome_grants (user_id, account_id) values (${userId}, ${accountId})`;
    },

    decide: async (transaction, actor, client) => {
      const { userId } = actor;
      const [offered] = await transaction<{ account_id: string }[]>`
        select account_id from welcome_grants where user_id = ${userId} and decided_at is null for update`;
      if (offered === undefined) return;
      if (settings === null) return await refuse(transaction, userId, 'off');
      const networks = networksOf(key, client, settings.maxPerNetworkAndDay);
      const reason = await findReason(transaction, networks, settings.maxPerDay);
      if (reason !== null) return await refuse(transaction, userId, reason);
      await give(transaction, actor, offered.account_id, settings, networks);
    },
  };
}

type CountedNetwork = Readonly<{ name: string; max: number }>;

/** By keyed hashes, so that a reader of the table learns no addresses. */
function networksOf(key: Buffer, { network, sites }: ClientNetworks, max: number): CountedNetwork[] {
  return widened({ scope: 'welcome-grant', subject: network, max, periodSeconds: 0 }, sites).map((limit) => ({
    name: createHmac('sha256', key).update(limit.subject).digest('hex'),
    max: limit.max,
  }));
}

/** Why no more is given today; null if more is. One at a time, so that each counts what the others have given. */
async function findReason(
  transaction: TransactionSQL,
  networks: readonly CountedNetwork[],
  maxPerDay: number,
): Promise<'network' | 'day' | null> {
  await transaction`select pg_advisory_xact_lock(hashtextextended('welcome grants', 0))`;
  const [row] = await transaction<[{ is_network_full: boolean; is_day_full: boolean }]>`
    with today as (
      select networks from welcome_grants
      where amount is not null and decided_at >= date_trunc('day', clock_timestamp(), 'UTC')
    )
    select (select count(*) from today) >= ${maxPerDay}::int as is_day_full,
           exists (
             select 1 from jsonb_to_recordset(${JSON.stringify(networks)}::text::jsonb) as network (name text, max int)
             where (select count(*) from today where decode(name, 'hex') = any (networks)) >= max
           ) as is_network_full`;
  if (row.is_network_full) return 'network';
  return row.is_day_full ? 'day' : null;
}

async function refuse(
  transaction: TransactionSQL,
  userId: string,
  reason: 'network' | 'day' | 'off',
): Promise<void> {
  await transaction`
    update welcome_grants set refused_for = ${reason}, decided_at = clock_timestamp() where user_id = ${userId}`;
}

async function give(
  transaction: TransactionSQL,
  actor: DashboardActor,
  accountId: string,
  { amount, days }: WelcomeGrantSettings,
  networks: readonly CountedNetwork[],
): Promise<void> {
  const names = JSON.stringify(networks.map(({ name }) => name));
  const [given] = await transaction<[{ expires_at: Date | null }]>`
    update welcome_grants
    set amount = ${formatMoney(amount)}::numeric, decided_at = clock_timestamp(),
        expires_at = now() + make_interval(days => ${days}::int),
        networks = array(select decode(name, 'hex') from jsonb_array_elements_text(${names}::text::jsonb) as name)
    where user_id = ${actor.userId} returning expires_at`;
  await recordChange(transaction, actor, {
    action: 'get_welcome_grant',
    accountId,
    after: { amount: formatMoney(amount), expires_at: given.expires_at?.toISOString() ?? null },
  });
  // Last, because requests of the account wait while its row is locked.
  await book(transaction, actor.userId, accountId);
}

/** The user's ID is its reference, so the ledger itself gives it once. */
async function book(transaction: TransactionSQL, userId: string, accountId: string): Promise<void> {
  await transaction`
    select book_own_movement('credit', account_id, amount, 'Welcome credit', user_id, null,
      jsonb_build_object('category', 'promotional', 'expires_at', expires_at))
    from welcome_grants where user_id = ${userId} and account_id = ${accountId}`;
}

const countedDays = 2;

/** Part of the upkeep: where someone signed up is kept no longer than it counts. */
export async function forgetNetworks(sql: SQL): Promise<void> {
  await sql`
    update welcome_grants set networks = null
    where networks is not null and decided_at < now() - make_interval(days => ${countedDays}::int)`;
}
