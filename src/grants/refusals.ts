/** Why something was not done to the grants of an account: the error for programs, and the sentence for everyone. */
import type { ErrorCode } from '../errors.ts';
import type { Voided } from './grant-store.ts';

type Refusal = Readonly<{ code: ErrorCode; message: string }>;

/** Null when it is voided, now or before. */
export function refusalOfVoid({ outcome }: Voided): Refusal | null {
  switch (outcome) {
    case 'voided':
    case 'repeated':
      return null;
    case 'denied':
      return { code: 'permission_denied', message: 'Only operators may void grants.' };
    case 'no_grant':
      return {
        code: 'grant_not_found',
        message:
          'This account has no such grant. What it had before its first grant cannot be voided: correct the balance.',
      };
    case 'nothing_left':
      return {
        code: 'nothing_left',
        message: 'Nothing is left of this grant: it was spent, or it has ended.',
      };
  }
}
