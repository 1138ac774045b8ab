/**
 * What goes on between the gateways and the world outside: webhooks and payments, with what causes events, and grants. It is
 * set up before anything breaks, and comes to rest by itself afterwards.
 */
import type { SQL } from 'bun';
import type { FakeStripe } from '../../tests/support/fake-stripe.ts';
import type { Random } from '../random.ts';
import type { WebhookReceiver } from '../world/webhook-receiver.ts';
import type { World } from '../world/world.ts';
import { type AccessChange, startAccessChanges } from './access.ts';
import type { Accounts } from './accounts.ts';
import { startGrants } from './grants.ts';
import type { MovementLog } from './movement-log.ts';
import { createOwner, type Owner } from './owner.ts';
import { payingAccounts, startPayments } from './payments.ts';
import { createWebhooks, type MadeEndpoint } from './webhooks.ts';

export type Outside = Readonly<{
  receiver: WebhookReceiver;
  stripe: FakeStripe;
  owner: Owner;
  endpoints: readonly MadeEndpoint[];
}>;

/** What was done, besides what the logs of others have. */
export type OutsideLog = Readonly<{
  accessChanges: readonly AccessChange[];
  grantsVoided: number;
  /** Of Stripe's events, with repeats. */
  eventsSent: number;
  eventsLost: number;
}>;

export async function prepareOutside(
  world: World,
  sql: SQL,
  accounts: Accounts,
  { receiver, stripe }: Pick<Outside, 'receiver' | 'stripe'>,
): Promise<Outside> {
  receiver.noteIn(world.folder);
  const { token, toldAccount: customer } = accounts;
  return {
    receiver,
    stripe,
    endpoints: await createWebhooks(world, receiver, { token, customer }),
    owner: await createOwner(world, sql, payingAccounts),
  };
}

export function startOutside(
  world: World,
  { receiver, stripe, owner }: Outside,
  { accounts, log }: Readonly<{ accounts: Accounts; log: MovementLog }>,
  random: Random,
): { stop: () => Promise<OutsideLog> } {
  const { token, toldAccount: accountId, grantedAccount } = accounts;
  const access = startAccessChanges(world, { accountId, token }, random.fork(1));
  const payments = startPayments(world, stripe, { owner, token, log }, random.fork(2));
  const grants = startGrants(world.database, grantedAccount, log, random.fork(3));
  return {
    stop: async () => {
      const [accessChanges, sent, { voided }] = await Promise.all([
        access.stop(),
        payments.stop(),
        grants.stop(),
      ]);
      receiver.calm();
      return { accessChanges, grantsVoided: voided, ...sent };
    },
  };
}

const restDeadlineMs = 120_000;
const restPollMs = 100;

/** How long it took, and what was not at rest even then, with its number. */
export type OutsideRest = Readonly<{ ms: number; left: readonly string[] }>;

/** Nothing but the gateways delivers, looks at orders and ends grants. What is left after a while is judged as it is. */
export async function whenOutsideAtRest(world: World): Promise<OutsideRest> {
  const sql = world.database.open(1);
  const sinceMs = Date.now();
  try {
    for (;;) {
      const left = await findUnrest(sql, sinceMs);
      const ms = Date.now() - sinceMs;
      if (left.length === 0 || ms > restDeadlineMs) return { ms, left };
      await Bun.sleep(restPollMs);
    }
  } finally {
    await sql.close({ timeout: 1 });
  }
}

async function findUnrest(sql: SQL, sinceMs: number): Promise<string[]> {
  const [row] = await sql<Record<string, bigint>[]>`
    select (select count(*) from events where position is null) as events,
      (select count(*) from webhook_deliveries where state = 'pending') as deliveries,
      -- Orders whose page was never opened are looked at every minute.
      (select count(*) from payment_orders where claim is not null or next_look_at <= now()
        or look_failures > 0 and coalesce(session, invoice) is not null) as orders,
      (select count(*) from payment_reversals join payment_orders on payment_orders.id = order_id
        join accounts on accounts.id = account_id where due < taken or due > taken and balance > held) as debts,
      (select count(*) from payment_orders where kind = 'automatic' and state in ('new', 'open', 'processing')) as top_ups,
      (select count(*) from grants where expires_at between now() and now() + interval '1 minute'
        or remaining > 0 and (expires_at <= now() or voided_at is not null)) as grants,
      -- The last poll has to begin after everything has happened at Stripe.
      (select count(*) from payment_polls where polled_until <= to_timestamp(${sinceMs}::float8 / 1000)) as polls`;
  return Object.entries(row ?? {}).flatMap(([name, count]) => (count === 0n ? [] : `${count} ${name}`));
}
