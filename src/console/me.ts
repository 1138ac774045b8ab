/** Who is signed in, and what the sign-in page offers to everyone else. */
import type { SQL } from 'bun';
import type { Decider } from '../decisions/decider.ts';
import type { Handler } from '../http/context.ts';
import { ownOriginOf } from '../http/origin.ts';
import type { ResetMail } from '../people/reset-mail.ts';
import type { Me, SignInOptions } from './contract.ts';
import type { ConsoleHandler, Routes } from './guard.ts';

type SignInServices = Readonly<{ isSignUpOpen: boolean; resetMail: ResetMail | null }>;

export function signInOptionsPage({ isSignUpOpen, resetMail }: SignInServices): Routes<Handler> {
  return {
    '/sign-in-options': {
      GET: () =>
        Response.json({
          sign_up: isSignUpOpen ? 'open' : 'closed',
          password_reset: resetMail === null ? 'operator' : 'email',
        } satisfies SignInOptions),
    },
  };
}

type MeServices = Readonly<{ sql: SQL; decisions: () => Decider | null; publicUrl: string | null }>;

export function mePage({ sql, decisions, publicUrl }: MeServices): Routes<ConsoleHandler> {
  return {
    '/me': {
      GET: async (request, { signedIn }) => {
        const decider = decisions();
        return Response.json({
          user: {
            id: signedIn.userId,
            email: signedIn.email,
            name: signedIn.name,
            is_operator: signedIn.isOperator,
            must_verify_email: signedIn.mustVerify,
          },
          accounts: await findAccounts(sql, signedIn.userId),
          decisions: { is_configured: decider !== null, model: decider?.model ?? null },
          api_origin: ownOriginOf(request, publicUrl),
        } satisfies Me);
      },
    },
  };
}

async function findAccounts(sql: SQL, userId: string): Promise<Me['accounts']> {
  return await sql<Me['accounts']>`
    select accounts.id, name, role, suspended_at is not null as is_suspended, price_group
    from memberships join accounts on accounts.id = account_id
    where user_id = ${userId} order by accounts.id`;
}
