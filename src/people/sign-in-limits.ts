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
    { scope: 'sign-up-email', subject: email, max: 5, periodSeconds: hour },
  ];
}

/** Each request sends a mail, so a user whose limit is used up by someone else still gets links. */
export function resetRequestLimits(email: string, client: ClientNetworks): Limit[] {
  return [
    ...networkLimits(client, false),
    { scope: 'reset-email', subject: email, max: 5, periodSeconds: hour },
  ];
}

/** Each sends a mail to an address that may be someone else's. All together must not ruin the name of the mail server. */
export function verificationMailLimits(email: string): Limit[] {
  return [
    { scope: 'verification-emails', subject: 'all', max: 500, periodSeconds: hour },
    { scope: 'verification-email', subject: email, max: 5, periodSeconds: hour },
    { scope: 'verification-email-day', subject: email, max: 10, periodSeconds: day },
  ];
}
