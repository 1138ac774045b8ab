import { z } from 'zod';

const longestAddress = 254;
const emailAddress = z.email().max(longestAddress);

/** The one rule for whom there can be a sign-in: what is accepted here can also be typed there. */
export function isEmailAddress(text: string): boolean {
  return emailAddress.safeParse(text).success;
}
