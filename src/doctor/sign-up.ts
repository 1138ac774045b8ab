import type { Config } from '../config.ts';
import { formatMoneyShort } from '../lib/money.ts';
import { type Finding, good, warning } from './finding.ts';

/** What strangers can get here, and what that may cost. Null when there is no sign-up and nothing to give. */
export function examineSignUp({
  isSignUpOpen,
  welcomeGrant: grant,
  mail,
}: Pick<Config, 'isSignUpOpen' | 'welcomeGrant' | 'mail'>): Finding | null {
  if (!isSignUpOpen)
    return grant === null
      ? null
      : warning(
          'sign-up',
          'WELCOME_GRANT is set, but nobody can sign up.',
          'Set SIGN_UP=open, or remove WELCOME_GRANT.',
        );
  if (grant === null) return good('sign-up', 'open, without welcome credit');
  const most = formatMoneyShort(grant.amount * BigInt(grant.maxPerDay));
  return mail === null
    ? warning(
        'sign-up',
        `Whoever signs up gets welcome credit without a verified address, at most ${most} USD in a day.`,
        'Set SMTP_URL, so that each credit needs an address of its own.',
      )
    : good('sign-up', `open, with at most ${most} USD of welcome credit in a day`);
}
