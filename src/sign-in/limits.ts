/**
 * How often what may be tried. The figures and their reasons are in docs/sign-in.md. A network is an IPv4 address or the
 * /64 of an IPv6 one.
 */
import type { Limit } from '../sessions/attempts.ts';

const quarterHour = 15 * 60;
const hour = 60 * 60;
const day = 24 * hour;

/** Everything that someone tries without being signed in, and every password that is tried. */
export function networkLimit(network: string): Limit {
  return { scope: 'network', subject: network, most: 30, periodSeconds: quarterHour };
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
export function signUpLimits(email: string, network: string): Limit[] {
  return [
    networkLimit(network),
    { scope: 'sign-up-network', subject: network, most: 10, periodSeconds: hour },
    { scope: 'sign-up-email', subject: email, most: 5, periodSeconds: hour },
  ];
}

/** Each request sends a mail, so a victim whose requests are used up by someone else has the links of those. */
export function resetRequestLimits(email: string, network: string): Limit[] {
  return [networkLimit(network), { scope: 'reset-email', subject: email, most: 5, periodSeconds: hour }];
}
