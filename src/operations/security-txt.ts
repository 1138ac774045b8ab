/** Where to report a vulnerability, at the address that RFC 9116 prescribes. */
import type { Handler } from '../http/context.ts';
import { dayMs } from '../lib/time-units.ts';

/** The RFC asks for less than a year, so that a forgotten file does not mislead. */
const validDays = 180;

export const securityTxtPath = '/.well-known/security.txt';

export function showSecurityTxt(contact: string, publicUrl: string | null): Handler {
  return async () =>
    new Response(securityTxt(contact, publicUrl, new Date()), {
      headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
    });
}

/** It is canonical only where the public address is known. It expires at midnight, so that it stays the same for a day. */
export function securityTxt(contact: string, publicUrl: string | null, now: Date): string {
  const expires = new Date((Math.floor(now.getTime() / dayMs) + validDays) * dayMs);
  return [
    `Contact: ${contact}`,
    `Expires: ${expires.toISOString().replace('.000Z', 'Z')}`,
    ...(publicUrl === null ? [] : [`Canonical: ${publicUrl}${securityTxtPath}`]),
    '',
  ].join('\n');
}
