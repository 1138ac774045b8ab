/** Someone who owns accounts, is signed in, and asks gateways that are killed meanwhile for what the dashboard would. */
import type { SQL } from 'bun';
import { createAccount } from '../../src/accounts/account-store.ts';
import { addCheapUser } from '../../tests/support/cheap-user.ts';
import type { FakeStripe } from '../../tests/support/fake-stripe.ts';
import { publicUrl } from '../world/surroundings.ts';
import type { World } from '../world/world.ts';

const email = 'owner@example.com';
const password = 'correct horse battery';
const unansweredMs = 60_000;

export type Owner = Readonly<{
  accounts: readonly string[];
  /** Null when there is no answer, or the gateway could not do it now. */
  send: (
    method: 'POST' | 'PATCH',
    origin: string,
    path: string,
    body: object,
  ) => Promise<Readonly<{ status: number; body: Readonly<Record<string, unknown>> }> | null>;
}>;

/** With so many accounts without credit. */
export async function createOwner(world: World, sql: SQL, accountCount: number): Promise<Owner> {
  const accounts: string[] = [];
  for (let number = 0; number < accountCount; number += 1)
    accounts.push((await createAccount(sql, `Payer ${number}`, 0n)).id);
  const [first = '', ...others] = accounts;
  const { id: userId } = await addCheapUser(sql, email, password, { accountId: first });
  for (const accountId of others)
    await sql`insert into memberships (user_id, account_id, role) values (${userId}, ${accountId}, 'owner')`;
  const cookie = await signIn(world.nodes[0]?.origin ?? '');
  return {
    accounts,
    send: async (method, origin, path, body) => {
      try {
        const response = await fetch(`${origin}/api/console${path}`, {
          method,
          headers: { cookie, origin: publicUrl, 'content-type': 'application/json' },
          body: JSON.stringify(body),
          signal: AbortSignal.timeout(unansweredMs),
        });
        const answered = (await response.json()) as Record<string, unknown>;
        return response.status >= 500 ? null : { status: response.status, body: answered };
      } catch {
        return null;
      }
    },
  };
}

type Checkout = Readonly<{ accountId: string; cents: number; origin: string; savesCard?: boolean }>;

/** The ID of Stripe's session; null if nobody got its address. */
export async function openCheckout(
  owner: Owner,
  stripe: FakeStripe,
  { accountId, cents, origin, savesCard = false }: Checkout,
): Promise<string | null> {
  const answer = await owner.send('POST', origin, `/accounts/${accountId}/payments/checkout`, {
    amount: (cents / 100).toFixed(2),
    saves_card: savesCard,
  });
  if (answer?.status !== 200) return null;
  const found = [...stripe.objects.values()].find(({ url }) => url === answer.body.url);
  return found === undefined ? null : `${found.id}`;
}

async function signIn(origin: string): Promise<string> {
  const response = await fetch(`${origin}/api/auth/sign-in/email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: publicUrl },
    body: JSON.stringify({ email, password }),
  });
  if (response.status !== 200) throw new Error(`Signing in answered ${response.status}.`);
  const cookies = response.headers.getSetCookie().map((line) => line.split(';')[0]);
  return cookies.join('; ');
}
