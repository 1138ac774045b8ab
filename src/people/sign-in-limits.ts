/** How often each thing may be tried. docs/sign-in.md explains the figures. */
import type { Limit } from './attempts.ts';

const quarterHour = 15 * 60;
const hour = 60 * 60;
const day = 24 * hour;

/** Where a client is: an IPv4 address, or the /64 of an IPv6 address together with the wider networks around it. */
export type ClientNetworks = Readonly<{ network: string; sites: readonly string[] }>;

/**
 * For everything that is tried without a session, and for every password. Neighbours must not be able to lock users out,
 * so where the user has signed in before, only their own network counts.
 */
export function networkLimits({ network, sites }: ClientNetworks, isFamiliar: boolean): Limit[] {
  const limit = { scope: 'network', subject: network, max: 30, periodSeconds: quarterHour };
  return isFamiliar ? [limit] : widened(limit, sites);
}

/** Each wider network gets twice the limit of the one inside it, although it contains hundreds of those. */
export function widened(limit: Limit, sites: readonly string[]): Limit[] {
  return [
    limit,
    ...sites.map((site, index) => ({ ...limit, subject: site, max: limit.max * 2 ** (index + 1) })),
  ];
}

/**
 * Only wrong passwords count. The limit for one network is low; that for all networks together is higher, because strangers
 * could use it to lock a user out. It does not apply to networks from which the user has signed in before.
 */
export function guessLimits(email: string, network: string, isFamiliar: boolean): Limit[] {
  const here = {
    scope: 'guess-here',
    subject: `${network} ${email}`,
    max: 10,
    periodSeconds: quarterHour,
  };
  const anywhere = { scope: 'guess-anywhere', subject: email, max: 100, periodSeconds: day };
  return isFamiliar ? [here] : [here, anywhere];
}

/** Each sign-up creates an account, and its response reveals whether an address is taken. */
export function signUpLimits(email: string, client: ClientNetworks): Limit[] {
  const { network, sites } = client;
  return [
    ...networkLimits(client, false),
    ...widened({ scope: 'sign-up-network', subject: network, max: 10, periodSeconds: hour }, sites),
    { scope: 'sign-up-email', subject: mailboxOf(email), max: 5, periodSeconds: hour },
  ];
}

/**
 * Where mail to an address probably ends up: many servers ignore what follows a plus sign, and Gmail ignores dots. Only for
 * counting mails, because two addresses may still be two people.
 */
export function mailboxOf(email: string): string {
  const at = email.lastIndexOf('@');
  const local = email.slice(0, at).toLowerCase();
  const domain = email
    .slice(at + 1)
    .toLowerCase()
    .replace(/^googlemail\.com$/, 'gmail.com');
  const untagged = local.replace(/(?<=.)\+.*$/, '');
  return `${domain === 'gmail.com' ? untagged.replaceAll('.', '') : untagged}@${domain}`;
}

/** Each request sends a mail, so a user whose limit is used up by someone else still gets links. */
export function resetRequestLimits(email: string, client: ClientNetworks): Limit[] {
  return [
    ...networkLimits(client, false),
    { scope: 'reset-email', subject: email, max: 5, periodSeconds: hour },
  ];
}

/**
 * For users whose address is not verified: anyone can have signed up with variants of an address that is not theirs. Not
 * counted for addresses without a user, which would keep the links of others from being sent.
 */
export function unverifiedResetLimits(email: string): Limit[] {
  return [{ scope: 'reset-mailbox', subject: mailboxOf(email), max: 5, periodSeconds: hour }];
}

/**
 * Each sends a mail to an address that may be someone else's. All together must not ruin the name of the mail server, and no
 * network can use up what is for all. Sending mails again leaves enough for those who sign up.
 */
export function verificationMailLimits(
  email: string,
  { network, sites }: ClientNetworks,
  which: 'first' | 'again',
): Limit[] {
  const mailbox = mailboxOf(email);
  return [
    ...widened({ scope: 'verification-network', subject: network, max: 12, periodSeconds: hour }, sites),
    { scope: 'verification-emails', subject: which, max: which === 'first' ? 300 : 200, periodSeconds: hour },
    { scope: 'verification-email', subject: mailbox, max: 5, periodSeconds: hour },
    { scope: 'verification-email-day', subject: mailbox, max: 10, periodSeconds: day },
  ];
}
