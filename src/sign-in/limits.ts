/** How often what may be tried. The figures and their reasons are in docs/sign-in.md. */
import type { Limit } from '../sessions/attempts.ts';

const quarterHour = 15 * 60;
const hour = 60 * 60;
const day = 24 * hour;

/** Where someone comes from: an IPv4 address, or the /64 of an IPv6 one together with the wider networks around it. */
export type ClientNetworks = Readonly<{ network: string; sites: readonly string[] }>;

/**
 * Everything that someone tries without being signed in, and every password that is tried. Neighbours must not be able to
 * keep people out, so where the user has come from before only their own network counts.
 */
export function networkLimits({ network, sites }: ClientNetworks, isFamiliar: boolean): Limit[] {
  const limit = { scope: 'network', subject: network, most: 30, periodSeconds: quarterHour };
  return isFamiliar ? [limit] : widened(limit, sites);
}

/** Each wider network may do twice as much as the one inside it, though it holds hundreds of those. */
function widened(limit: Limit, sites: readonly string[]): Limit[] {
  return [
    limit,
    ...sites.map((site, index) => ({ ...limit, subject: site, most: limit.most * 2 ** (index + 1) })),
  ];
}

/**
 * Only wrong passwords count here. From one network few are tried; from all networks together more, because this is the
 * limit that strangers could use to keep someone out. A network that the user has come from before is not held to it.
 */
export function guessLimits(email: string, network: string, isFamiliar: boolean): Limit[] {
  const here = {
    scope: 'guess-here',
    subject: `${network} ${email}`,
    most: 10,
    periodSeconds: quarterHour,
  };
  const anywhere = { scope: 'guess-anywhere', subject: email, most: 100, periodSeconds: day };
  return isFamiliar ? [here] : [here, anywhere];
}

/** Each sign-up makes an account, and its answer tells whether an address is taken. */
export function signUpLimits(email: string, client: ClientNetworks): Limit[] {
  const { network, sites } = client;
  return [
    ...networkLimits(client, false),
    ...widened({ scope: 'sign-up-network', subject: network, most: 10, periodSeconds: hour }, sites),
    { scope: 'sign-up-email', subject: email, most: 5, periodSeconds: hour },
  ];
}

/** Each request sends a mail, so a victim whose requests are used up by someone else has the links of those. */
export function resetRequestLimits(email: string, client: ClientNetworks): Limit[] {
  return [
    ...networkLimits(client, false),
    { scope: 'reset-email', subject: email, most: 5, periodSeconds: hour },
  ];
}
