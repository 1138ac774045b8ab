/** Which events of an account its members get as mails: each of them chooses. */
import type { SQL } from 'bun';
import { z } from 'zod';
import { readQuery } from '../http/query.ts';
import { bodyOf, readBody } from '../json/fields.ts';
import type { InvitationMail } from '../people/invitation-mail.ts';
import { type Caller, findStanding, requireMember } from './access.ts';
import type { MailChoices, MailKind } from './event-contract.ts';
import type { AccountHandler, Routes } from './guard.ts';

type MailServices = Readonly<{
  sql: SQL;
  /** Null when the gateway cannot send mail. */
  invitationMail: InvitationMail | null;
}>;

const kinds: readonly [MailKind, ...MailKind[]] = [
  'low_balance',
  'budget',
  'grant_expiry',
  'key_expiry',
  'payment',
];
const words = `a list of ${kinds.join(', ')}`;
const choicesBody = bodyOf({ kinds: z.array(z.enum(kinds, words), words).max(kinds.length, words) });

export function mailChoicesPage({ sql, invitationMail }: MailServices): Routes<AccountHandler> {
  const show = async (caller: Caller) => {
    const choices = { kinds: await findKinds(sql, caller), is_mail_on: invitationMail !== null };
    return Response.json(choices satisfies MailChoices);
  };
  return {
    '/mail-choices': {
      GET: async (request, { caller }) => {
        readQuery(request.url, []);
        return await show(caller);
      },
      PATCH: async (request, { caller }) => {
        readQuery(request.url, []);
        const { kinds: chosen } = await readBody(request, choicesBody);
        await sql`
          insert into mail_choices (user_id, account_id, kinds)
          select user_id, account_id, ${sql.array([...new Set(chosen)], 'text')} from memberships
          where user_id = ${caller.userId} and account_id = ${caller.accountId}
          on conflict (user_id, account_id) do update set kinds = excluded.kinds`;
        return await show(caller);
      },
    },
  };
}

/** Owners who have not chosen get all, and others none. Whoever is not a member gets no mails, and has nothing to choose. */
async function findKinds(sql: SQL, caller: Caller): Promise<MailKind[]> {
  const standing = await findStanding(sql, caller);
  requireMember(standing);
  const [row] = await sql<{ kinds: MailKind[] }[]>`
    select kinds from memberships join mail_choices using (user_id, account_id)
    where user_id = ${caller.userId} and account_id = ${caller.accountId}`;
  return row?.kinds ?? (standing === 'owner' ? [...kinds] : []);
}
