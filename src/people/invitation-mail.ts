/** Mails invitations. */
import { invitationDays, invitationUrl } from './invitations.ts';
import { linkMail, type Mailer } from './mailer.ts';

export type InvitationMail = Readonly<{
  /**
   * Returns at once. `inviter` is the e-mail address of the owner; null for the operator, and
   * for an owner whose address is not verified: it may be someone else's.
   */
  send: (email: string, inviter: string | null, token: string) => void;
}>;

/** Names are left out: anyone can choose them freely, and could advertise with them at any address. */
export function openInvitationMail({ origin, send }: Mailer): InvitationMail {
  return {
    send: (email, inviter, token) =>
      send(async () =>
        linkMail(email, 'You are invited to an account', {
          greeting:
            inviter === null
              ? `You are invited to an account at ${origin}.`
              : `${inviter} invites you to their account at ${origin}.`,
          instruction: `Accept here within ${invitationDays} days. The link works once, for this address only:`,
          url: invitationUrl(origin, token),
          farewell: 'If you do not know who this is, do nothing.',
        }),
      ),
  };
}
